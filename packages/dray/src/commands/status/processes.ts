import { existsSync } from "node:fs";
import { join } from "node:path";
import {
  type AgentsRecord,
  type ClusterConfig,
  isOfEarlierBoot,
  type Layout,
  type ProcessEnd,
  processMemory,
  readProcessFile,
} from "@dray/cluster";
import { endText, fullHeapText } from "../../process/end-text.ts";
import { outputLog } from "../../process/output-log.ts";

/** The state of a process, from the system and its file. */
export interface ProcessStatus {
  readonly name: "control-plane" | "agents" | "simulation";
  readonly components: readonly string[];
  readonly state: "starting" | "running" | "stopping" | "stopped" | "dead";
  /** Only of a running process. */
  readonly pid?: number;
  readonly startedAt?: string;
  readonly memoryBytes?: number;
  /** Time at which a process ended or, if nothing recorded that, its last sign of life. */
  readonly deadSince?: string;
  /** How the process ended, as text. */
  readonly reason?: string;
  /** Number of restarts of the agents since the start of the cluster, and how they last ended. */
  readonly restarts?: number;
  readonly lastEnd?: ProcessEnd;
  readonly log: string;
}

/** Returns the state of the process of API server, scheduler and controllers. */
export function controlPlaneStatus(layout: Layout): ProcessStatus {
  const base = {
    name: "control-plane" as const,
    components: ["apiserver", "scheduler", "controller-manager"],
    log: join(layout.logs, "control-plane.log"),
  };
  const file = readProcessFile(layout.processFile);
  // An unreadable file is not that of a running process: those are written atomically.
  if (file === undefined) {
    if (!existsSync(layout.processFile)) return { ...base, state: "stopped" };
    return { ...base, state: "dead", reason: `${layout.processFile} is damaged` };
  }
  const { record, alive, lastSeen } = file;
  if (!alive) {
    const reason = isOfEarlierBoot(record)
      ? "the machine was started anew"
      : (fullHeapText(join(layout.logs, outputLog), record.pid) ??
        "it was killed (by somebody, or by the system because memory was short), or failed");
    return { ...base, state: "dead", deadSince: lastSeen.toISOString(), reason };
  }
  const state = record.phase === "ready" ? "running" : (record.phase ?? "starting");
  return { ...base, state, ...living(record) };
}

/** Returns the state of the process of all node agents; undefined if the cluster has no nodes. */
export function agentsStatus(
  layout: Layout,
  config: ClusterConfig,
  controlPlane: ProcessStatus,
): ProcessStatus | undefined {
  if (config.nodes.length === 0) return undefined;
  const base = {
    name: "agents" as const,
    components: config.nodes.map((node) => `kubelet/${node}`),
    log: join(layout.logs, "agents.log"),
  };
  return childStatus(base, layout.agentsFile, controlPlane);
}

/** Returns the state of the simulation's process; undefined without a simulation. */
export function simulationStatus(
  layout: Layout,
  config: ClusterConfig,
  controlPlane: ProcessStatus,
): ProcessStatus | undefined {
  if (config.fleet === undefined && config.simulatedNodes === undefined) return undefined;
  const components = [
    ...(config.fleet === undefined ? [] : ["drivers of the fleet"]),
    ...(config.simulatedNodes === undefined ? [] : ["kubelets of simulated nodes"]),
  ];
  const base = { name: "simulation" as const, components, log: join(layout.logs, "drivers.log") };
  return childStatus(base, layout.simulationFile, controlPlane);
}

/** Returns the state of a process that the control plane starts and restarts. */
function childStatus(
  base: Pick<ProcessStatus, "name" | "components" | "log">,
  path: string,
  controlPlane: ProcessStatus,
): ProcessStatus {
  const file = readProcessFile<AgentsRecord>(path);
  if (file === undefined) {
    return { ...base, state: controlPlane.state === "starting" ? "starting" : "stopped" };
  }
  const { record, alive } = file;
  const { restarts, lastEnd } = record;
  const history = { restarts, ...(lastEnd && { lastEnd }) };
  if (record.ended && lastEnd !== undefined) {
    const reason = `it ended with ${endText(lastEnd)}`;
    return { ...base, state: "dead", deadSince: lastEnd.at, reason, ...history };
  }
  const state = record.phase === "ready" ? "running" : "starting";
  if (alive) return { ...base, state, ...living(record), ...history };
  // Agents whose control plane has died end by themselves, and nothing records when.
  if (controlPlane.state === "running")
    return { ...base, state: "dead", reason: "it ended a moment ago", ...history };
  return { ...base, state: "stopped", ...history };
}

function living({ pid, startedAt }: { readonly pid: number; readonly startedAt: string }): object {
  const memoryBytes = processMemory(pid);
  return { pid, startedAt, ...(memoryBytes !== undefined && { memoryBytes }) };
}
