import type { Node } from "@dray/api/core/v1";
import type { ResourceSlice } from "@dray/api/resource/v1";
import type { NodeState } from "@dray/kubelet";

export interface NodeStatus {
  readonly name: string;
  readonly ready: boolean;
  /** Pods are not scheduled to it. */
  readonly cordoned: boolean;
  /** Why it is not ready; null if it is. */
  readonly reason: string | null;
  readonly message: string | null;
}

/**
 * What each node says of itself, or the process of the agents about one whose agent fails. Nodes of `expected` that
 * have not registered are among them.
 */
export function nodeStatuses(
  nodes: readonly Node[],
  expected: readonly string[],
  agents: readonly NodeState[] = [],
): NodeStatus[] {
  const failures = new Map(
    agents.filter(({ state }) => state === "failed").map(({ node, reason = "" }) => [node, reason]),
  );
  const known = new Set(nodes.map(({ metadata }) => metadata.name));
  const failureOf = (name: string): { reason: string; message: string } | undefined => {
    const failure = failures.get(name);
    return failure === undefined
      ? undefined
      : { reason: "AgentFailed", message: `${failure} (its agent is started again and again)` };
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
      const message = `its agent has not registered it: see \`dray logs ${name}\``;
      const why = failureOf(name) ?? { reason: "NotRegistered", message };
      return { name, ready: false, cordoned: false, ...why };
    }),
  ].sort((a, b) => a.name.localeCompare(b.name, "en", { numeric: true }));
}

export interface DriverStatus {
  readonly name: string;
  readonly devices: number;
  readonly pools: number;
  /** Nodes with pools of their own; pools of the network belong to none. */
  readonly nodes: number;
}

/** The DRA drivers that publish devices. Of a pool only the slices of its newest generation count. */
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
