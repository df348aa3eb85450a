import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Features, featuresOf, parseFeatureGates, parseKubernetesVersion } from "@dray/api";
import { type Log, systemClock } from "@dray/client";
import {
  type Fleet,
  healthNamespace,
  type SimulatedNode as NodeWithDrivers,
  readFleet,
  runSimulation,
} from "@dray/driver-simulated";
import { runSimulatedNodes, type SimulatedNode } from "@dray/kubelet/simulated";
import { connect } from "../../connection/connect.ts";
import { readFleetFile } from "../../fleet/file.ts";
import type { SimulationOrder } from "../../fleet/process.ts";
import { simulatedNodes, simulationOf } from "../../fleet/simulated-nodes.ts";
import { createLog } from "../../log/create.ts";
import { endRequested } from "../../process/end-requested.ts";
import { keepYoungHeapSmall } from "../../process/heap.ts";
import { UsageError } from "../../terminal/failure.ts";
import { remark } from "../../terminal/verbosity.ts";

export interface SimulateOptions {
  readonly fleet: string;
  readonly nodeName?: string;
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly registrarDir?: string;
  readonly pluginsDir?: string;
  readonly cdiDir?: string;
}

/** Runs the drivers of a fleet file for one node until a signal. */
export async function simulate(
  options: SimulateOptions,
  env: NodeJS.ProcessEnv = process.env,
): Promise<void> {
  const { fleet } = readFleetFile(options.fleet);
  const name = options.nodeName ?? env["NODE_NAME"];
  if (!name)
    throw new UsageError("--node-name is missing: the node whose devices are simulated, also in $NODE_NAME");
  const drivers = fleet.node(name)?.drivers ?? fleet.network;
  if (drivers.length === 0) {
    const known = fleet.nodes.map((node) => node.name).slice(0, 5);
    throw new UsageError(
      `--node-name ${name}: ${options.fleet} has no drivers for it; ${known.length === 0 ? "it names no nodes" : `it names ${known.join(", ")}`}`,
    );
  }
  for (const note of fleet.notes) remark(`note: ${note}\n`);
  const node: NodeWithDrivers = {
    name,
    registrarDirectory:
      options.registrarDir ??
      (env["KUBELET_REGISTRAR_DIRECTORY_PATH"] || "/var/lib/kubelet/plugins_registry"),
    pluginsDirectory:
      options.pluginsDir ?? (env["KUBELET_PLUGINS_DIRECTORY_PATH"] || "/var/lib/kubelet/plugins"),
    cdiDirectory: options.cdiDir ?? (env["CDI_ROOT"] || "/var/run/cdi"),
  };
  const log = createLog("drivers");
  const { client } = await connect(options, "dray-simulated-driver", log);
  const stop = new AbortController();
  void endRequested().then(() => stop.abort());
  try {
    // The processes of all nodes simulate the same fleet.
    const election = { namespace: healthNamespace, identity: `${name}_${randomUUID()}` };
    const common = { client, clock: systemClock, log, signal: stop.signal };
    await runSimulation({ ...common, fleet, nodes: [node], election });
  } finally {
    client.close();
  }
  process.exit(0);
}

/** Runs the simulated parts of a cluster of `dray up` until `dray up` stops it or ends. */
export async function simulation({ logFile }: { readonly logFile: string }): Promise<void> {
  const log = createLog("drivers", logFile);
  const stop = new AbortController();
  const first = Promise.withResolvers<SimulationOrder & { readonly order: "run" }>();
  process.on("message", (message: SimulationOrder) => {
    if (message.order === "run") first.resolve(message);
    else stop.abort();
  });
  // Claims of running pods stay prepared for the next process.
  process.once("disconnect", () => process.exit(0));
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => stop.abort());
  await run(await first.promise, log, stop.signal);
  process.exit(0);
}

type RunOrder = SimulationOrder & { readonly order: "run" };

async function run(order: RunOrder, log: Log, signal: AbortSignal): Promise<void> {
  const { drivers, kubelets, kubernetesVersion, featureGates } = order;
  const features = featuresOf(parseKubernetesVersion(kubernetesVersion), parseFeatureGates(featureGates));
  const fleet =
    drivers &&
    readFleet([{ file: drivers.file, text: readFileSync(drivers.path, "utf8") }], {
      features,
      ...simulationOf(order),
    });
  setTimeout(keepYoungHeapSmall, settleTime).unref();
  const simulation = { nodes: simulatedNodes(order, fleet), log, signal };
  await Promise.all([
    drivers && fleet && runDrivers(drivers, fleet, simulation),
    kubelets && runKubelets(kubelets, features, simulation),
  ]);
}

interface Simulation {
  readonly nodes: readonly SimulatedNode[];
  readonly log: Log;
  readonly signal: AbortSignal;
}

async function runDrivers(
  { kubeconfig, nodes }: NonNullable<RunOrder["drivers"]>,
  fleet: Fleet,
  { nodes: simulated, log, signal }: Simulation,
): Promise<void> {
  const { client } = await connect({ kubeconfig }, "dray-simulated-drivers", log);
  await runSimulation({
    fleet,
    nodes: nodes.map(({ name, rootDir }) => ({
      name,
      registrarDirectory: join(rootDir, "var/lib/kubelet/plugins_registry"),
      pluginsDirectory: join(rootDir, "var/lib/kubelet/plugins"),
      cdiDirectory: join(rootDir, "var/run/cdi"),
    })),
    publishedNodes: simulated.map(({ name }) => name),
    client,
    clock: systemClock,
    log,
    signal,
  });
}

async function runKubelets(
  { kubeconfig, certFile, keyFile, clientCAFile }: NonNullable<RunOrder["kubelets"]>,
  features: Features,
  { nodes, log, signal }: Simulation,
): Promise<void> {
  const { client } = await connect({ kubeconfig }, "dray-simulated-nodes", log);
  const [cert, key, clientCA] = [certFile, keyFile, clientCAFile].map((path) =>
    readFileSync(path, "utf8"),
  ) as [string, string, string];
  await runSimulatedNodes({
    ...{ client, log, nodes, features, signal },
    clock: systemClock,
    random: Math.random,
    address: "127.0.0.1",
    serving: { cert, key, clientCA },
  });
}

/** Milliseconds after which all code is loaded. */
const settleTime = 5000;
