import { existsSync } from "node:fs";
import { StatusError } from "@dray/api";
import { Node } from "@dray/api/core/v1";
import { ResourceSlice } from "@dray/api/resource/v1";
import { type Client, loadKubeconfig } from "@dray/client";
import { type ClusterConfig, contextName, type Layout, readConfig, readNodeStates } from "@dray/cluster";
import { connect } from "../../connection/connect.ts";
import { commandText, type Target } from "../../options/target.ts";
import {
  type DriverStatus,
  driverStatuses,
  type NodeStatus,
  nodeStatuses,
  nodesWithoutServer,
} from "./objects.ts";
import { agentsStatus, controlPlaneStatus, type ProcessStatus, simulationStatus } from "./processes.ts";

/**
 * none: there is no cluster. stopped: `dray down` or Ctrl-C stopped it. dead: its control plane ended in
 * another way. unresponsive: its API server does not respond. degraded: the API server responds, but an agent
 * or a node is not ready.
 */
export type ClusterState =
  | "none"
  | "stopped"
  | "dead"
  | "starting"
  | "stopping"
  | "unresponsive"
  | "degraded"
  | "running";

export interface ClusterStatus {
  readonly name: string;
  readonly state: ClusterState;
  /** The control plane runs and responds. */
  readonly running: boolean;
  /** Problems, one sentence each. */
  readonly problems: readonly string[];
  readonly dataDir: string;
  readonly kubeconfig?: string;
  /** The context of the cluster in kubeconfigs. */
  readonly context?: string;
  readonly server?: string;
  /** PEM of the authority that signed the server's certificate. */
  readonly certificateAuthority?: string;
  readonly kubernetesVersion?: string;
  /** The fleet file with the nodes and their simulated devices, if any. */
  readonly fleet?: string;
  /** The folder of the log files. */
  readonly logs?: string;
  readonly processes: readonly ProcessStatus[];
  readonly nodes: readonly NodeStatus[];
  readonly drivers: readonly DriverStatus[];
}

/** Timeout of a request to the API server, in milliseconds. */
const answerTimeout = 5_000;

export async function clusterStatus({ name, layout }: Target): Promise<ClusterStatus> {
  const { dataDir } = layout;
  const config = readConfig(layout);
  const none = { name, state: "none" as const, running: false, problems: [], dataDir };
  const nothing = { processes: [], nodes: [], drivers: [] };
  if (config === undefined) return { ...none, ...nothing };
  const controlPlane = controlPlaneStatus(layout);
  const agents = agentsStatus(layout, config, controlPlane);
  const simulation = simulationStatus(layout, config, controlPlane);
  const processes = [controlPlane, agents, simulation].filter((process) => process !== undefined);
  const nodes = (): NodeStatus[] =>
    agents === undefined ? [] : nodesWithoutServer(config.nodes, readNodeStates(layout), agents.state);
  const known = {
    ...none,
    kubernetesVersion: config.kubernetesVersion,
    ...(config.fleet !== undefined && { fleet: config.fleet }),
    ...(await access(layout, config.name)),
    logs: layout.logs,
    ...nothing,
    processes,
  };
  if (controlPlane.state !== "running") {
    return { ...known, state: controlPlane.state, nodes: nodes(), problems: processProblems(processes) };
  }
  try {
    const { server, nodes, drivers } = await objects(layout, config);
    const problems = [...processProblems(processes), ...nodes.flatMap(nodeProblem)];
    const state = problems.length === 0 ? "running" : "degraded";
    return { ...known, state, running: true, server, nodes, drivers, problems };
  } catch (error) {
    const problem = `the API server does not respond: ${(error as Error).message}; see ${commandText(layout, "logs", "apiserver")}`;
    const found = nodes();
    const problems = [problem, ...processProblems(processes), ...found.flatMap(nodeProblem)];
    return { ...known, state: "unresponsive", nodes: found, problems };
  }
}

/** Returns the address of the cluster from its kubeconfig, which is written before the API server listens. */
async function access(layout: Layout, name: string): Promise<Partial<ClusterStatus>> {
  const kubeconfig = layout.kubeconfig;
  if (!existsSync(kubeconfig)) return {};
  const context = contextName(name);
  try {
    const { server, ca } = (await loadKubeconfig({ file: kubeconfig, context })).connection;
    return { kubeconfig, context, server, ...(typeof ca === "string" && { certificateAuthority: ca }) };
  } catch {
    // Damaged: the request that follows reports it.
    return { kubeconfig };
  }
}

function processProblems(processes: readonly ProcessStatus[]): string[] {
  return processes.flatMap(({ name, state, reason, log }) => {
    const who = { "control-plane": "control plane", agents: "node agents", simulation: "simulation" }[name];
    if (name === "agents" && state === "starting") return ["the node agents are starting"];
    if (state !== "dead") return [];
    const next = name === "control-plane" ? "" : ", and is started again";
    return [
      `the process of the ${who} is dead: ${reason}${next}; see ${log}, and up.log beside it for what it printed`,
    ];
  });
}

function nodeProblem({ name, ready, reason, message }: NodeStatus): string[] {
  return ready !== false ? [] : [`node ${name} is not ready: ${reason}: ${message}`];
}

async function objects(
  layout: Layout,
  config: ClusterConfig,
): Promise<{ server: string; nodes: NodeStatus[]; drivers: DriverStatus[] }> {
  const { client, server } = await connect(
    { kubeconfig: layout.kubeconfig, context: contextName(config.name) },
    "dray-status",
  );
  const signal = AbortSignal.timeout(answerTimeout);
  try {
    const [nodes, slices] = await Promise.all([
      client.resource(Node).list({}, { signal }),
      allSlices(client, signal),
    ]);
    return {
      server,
      nodes: nodeStatuses(nodes.items, config.nodes, readNodeStates(layout), (node) =>
        commandText(layout, "logs", node),
      ),
      drivers: driverStatuses(slices),
    };
  } catch (error) {
    if (signal.aborted) throw new Error(`no answer within ${answerTimeout / 1000} s`, { cause: error });
    throw error;
  } finally {
    client.close();
  }
}

async function allSlices(client: Client, signal: AbortSignal): Promise<readonly ResourceSlice[]> {
  try {
    return (await client.resource(ResourceSlice).list({}, { signal })).items;
  } catch (error) {
    // The cluster does not serve the kind.
    if (StatusError.is(error, "NotFound")) return [];
    throw error;
  }
}
