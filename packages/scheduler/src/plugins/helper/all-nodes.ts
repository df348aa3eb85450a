import type { CycleState } from "../../framework/framework.ts";
import type { NodeInfo } from "../../framework/node-info.ts";

const key = "all nodes";

/** Keeps the nodes of the cluster for PreScore, which is given those that have passed the filters. */
export function keepNodes(state: CycleState, nodes: readonly NodeInfo[]): void {
  state.set(key, nodes);
}

export function allNodes(state: CycleState): readonly NodeInfo[] {
  return (state.get(key) as readonly NodeInfo[] | undefined) ?? [];
}
