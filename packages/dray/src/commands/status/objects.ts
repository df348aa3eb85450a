import type { Node } from "@dray/api/core/v1";
import type { ResourceSlice } from "@dray/api/resource/v1";
import type { NodeState } from "@dray/kubelet";
import type { ProcessStatus } from "./processes.ts";

export interface NodeStatus {
  readonly name: string;
  /** null: unknown, as the API server does not respond. */
  readonly ready: boolean | null;
  /** Pods are not scheduled to it; null: unknown. */
  readonly cordoned: boolean | null;
  /** Why it is not ready or not known to be; null if it is ready. */
  readonly reason: string | null;
  readonly message: string | null;
}

/**
 * Returns the state of each node from its own report, or from the agents' process if its agent fails.
 * Includes nodes of `expected` that have not registered.
 */
export function nodeStatuses(
  nodes: readonly Node[],
  expected: readonly string[],
  agents: readonly NodeState[] = [],
  /** The command that prints the log of a node. */
  logCommand = (node: string): string => `\`dray logs ${node}\``,
): NodeStatus[] {
  const states = new Map(agents.map((state) => [state.node, state]));
  const known = new Set(nodes.map(({ metadata }) => metadata.name));
  const failureOf = (name: string): Why | undefined => {
    const state = states.get(name);
    return state?.state === "failed" ? agentFailure(state) : undefined;
  };
  const missing = expected.filter((name) => !known.has(name));
  return [
    ...nodes.map(({ metadata, spec, status }): NodeStatus => {
      const condition = status?.conditions?.find(({ type }) => type === "Ready");
      const ready = condition?.status === "True";
      return {
        name: metadata.name,
        ready,
        cordoned: spec?.unschedulable === true,
        ...(ready
          ? { reason: null, message: null }
          : (failureOf(metadata.name) ?? {
              reason: condition?.reason ?? "NoStatus",
              message: condition?.message ?? "its agent has not reported yet",
            })),
      };
    }),
    ...missing.map((name): NodeStatus => {
      const message = `its agent has not registered it: see ${logCommand(name)}`;
      const why = failureOf(name) ?? { reason: "NotRegistered", message };
      return { name, ready: false, cordoned: false, ...why };
    }),
  ].sort(byName);
}

type Why = Readonly<Record<"reason" | "message", string>>;

function agentFailure({ reason = "" }: NodeState): Why {
  return { reason: "AgentFailed", message: `${reason} (its agent is started again and again)` };
}

const byName = (a: NodeStatus, b: NodeStatus): number =>
  a.name.localeCompare(b.name, "en", { numeric: true });

/**
 * Returns the state of the nodes while the API server does not respond: that of their agents. `agents` is
 * undefined if their process does not run or has not reported; `process` is the state of that process.
 */
export function nodesWithoutServer(
  names: readonly string[],
  agents: readonly NodeState[] | undefined,
  process: ProcessStatus["state"],
): NodeStatus[] {
  const states = new Map(agents?.map((state) => [state.node, state]));
  return names
    .map((name): NodeStatus => {
      const state = states.get(name);
      if (state?.state === "failed") return { name, ready: false, cordoned: null, ...agentFailure(state) };
      if (state?.state === "running" || state?.state === "starting") {
        const [reason, does] = state.state === "running" ? ["AgentRuns", "runs"] : ["AgentStarts", "starts"];
        const message = `its agent ${does}; whether the node is ready the API server would say`;
        return { name, ready: null, cordoned: null, reason, message };
      }
      if (state === undefined && (process === "running" || process === "starting")) {
        const message = "its agent has said nothing yet";
        return { name, ready: null, cordoned: null, reason: "NoStatus", message };
      }
      const message = "its agent does not run";
      return { name, ready: false, cordoned: null, reason: "AgentStopped", message };
    })
    .sort(byName);
}

export interface DriverStatus {
  readonly name: string;
  readonly devices: number;
  readonly pools: number;
  /** Number of nodes with pools of their own; network pools have no node. */
  readonly nodes: number;
}

/** Returns the DRA drivers that publish devices. Only slices of the newest generation of a pool count. */
export function driverStatuses(slices: readonly ResourceSlice[]): DriverStatus[] {
  const byDriver = Map.groupBy(slices, ({ spec }) => spec.driver);
  return [...byDriver]
    .map(([name, all]) => {
      const pools = Map.groupBy(all, ({ spec }) => spec.pool.name);
      const current = [...pools.values()].flatMap((pool) => {
        const newest = pool.reduce(
          (most, { spec }) => (spec.pool.generation > most ? spec.pool.generation : most),
          0 as number | bigint,
        );
        return pool.filter(({ spec }) => spec.pool.generation === newest);
      });
      return {
        name,
        devices: current.reduce((sum, { spec }) => sum + (spec.devices?.length ?? 0), 0),
        pools: pools.size,
        nodes: new Set(current.flatMap(({ spec }) => spec.nodeName ?? [])).size,
      };
    })
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}
