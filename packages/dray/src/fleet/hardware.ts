import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Client, Clock, Log } from "@dray/client";
import {
  type ClusterConfig,
  type Layout,
  type NodeFiles,
  type NodeHardware,
  nodesReady,
  ProgressDeadline,
  type RunningHardware,
} from "@dray/cluster";
import { fleetOf } from "./file.ts";
import { installFleet, labelNodes, uninstallFleet } from "./install.ts";
import { SimulationProcess } from "./process.ts";
import { allowSimulatedNodes, removeFormerNodes, simulatedNodes } from "./simulated-nodes.ts";

/**
 * Runs the simulated parts of a cluster: the devices of a fleet file, and simulated nodes. Removes the
 * remains of earlier simulations.
 */
export function simulatedHardware(
  layout: Layout,
  config: ClusterConfig,
  clock: Clock,
  log: Log,
): NodeHardware {
  const fleet = fleetOf(layout, config);
  const nodes = simulatedNodes(config, fleet).map(({ name }) => name);
  return {
    capacity: (node) => fleet?.node(node)?.capacity,
    async start(admin, real) {
      const stop = new AbortController();
      await removeFormerNodes(admin, new Set(nodes));
      if (fleet === undefined) await removeFleet(layout, admin);
      else {
        await installFleet(admin, fleet);
        labelNodes(admin, fleet, log, stop.signal);
      }
      if (nodes.length > 0) await allowSimulatedNodes(admin);
      const simulation =
        fleet === undefined && nodes.length === 0
          ? undefined
          : new SimulationProcess(layout, orderOf(layout, config, fleet && real, nodes), log);
      return {
        ready: (onProgress) =>
          ready({ layout, client: admin, clock, nodes, signal: stop.signal }, onProgress),
        async stop() {
          stop.abort();
          await simulation?.stop();
        },
      };
    },
  };
}

async function removeFleet(layout: Layout, admin: Client): Promise<void> {
  if (!existsSync(layout.fleetFile)) return;
  await uninstallFleet(admin);
  rmSync(layout.fleetFile, { force: true });
}

function orderOf(
  layout: Layout,
  { fleet: file, kubernetesVersion, featureGates, simulatedNodes }: ClusterConfig,
  fleetNodes: readonly NodeFiles[] | undefined,
  simulated: readonly string[],
): ConstructorParameters<typeof SimulationProcess>[1] {
  return {
    order: "run",
    ...{ kubernetesVersion, featureGates },
    ...(simulatedNodes !== undefined && { simulatedNodes }),
    ...(fleetNodes !== undefined &&
      file !== undefined && {
        drivers: {
          ...{ file, path: layout.fleetFile, kubeconfig: layout.driversKubeconfig },
          nodes: fleetNodes.map(({ name, rootDir }) => ({ name, rootDir })),
        },
      }),
    ...(simulated.length > 0 && {
      kubelets: {
        kubeconfig: layout.simulatedNodesKubeconfig,
        certFile: join(layout.pki, "simulated-nodes-server.crt"),
        keyFile: join(layout.pki, "simulated-nodes-server.key"),
        clientCAFile: join(layout.pki, "ca.crt"),
      },
    }),
  };
}

/** Milliseconds that the next of the nodes may take to become ready. */
const readyTimeout = 60_000;
/** Milliseconds between two updates of the progress shown. */
const progressInterval = 100;

interface WaitOptions {
  readonly layout: Layout;
  readonly client: Client;
  readonly clock: Clock;
  readonly nodes: readonly string[];
  readonly signal: AbortSignal;
}

async function ready(
  { layout, client, clock, nodes, signal }: WaitOptions,
  onProgress: (text: string) => void,
): ReturnType<RunningHardware["ready"]> {
  if (nodes.length === 0) return;
  const waiting = new Set(nodes);
  const deadline = new ProgressDeadline({
    timeout: readyTimeout,
    failure: () =>
      new Error(
        `${waiting.size} of ${nodes.length} simulated nodes did not become ready within ${readyTimeout / 1000} s: see ${layout.logs}`,
      ),
    signal,
  });
  try {
    let lastProgress = Number.NEGATIVE_INFINITY;
    const advance = (): void => {
      deadline.advance();
      // Thousands of nodes become ready one after the other.
      const now = clock.now();
      if (now - lastProgress < progressInterval) return;
      lastProgress = now;
      onProgress(`Waiting for simulated nodes: ${nodes.length - waiting.size} of ${nodes.length} are ready`);
    };
    await Promise.race([nodesReady(client, waiting, advance), deadline.exceeded]);
  } finally {
    deadline.stop();
  }
}
