import type { Pod } from "@dray/api/core/v1";
import type { NodeInfo } from "./node-info.ts";

/** The pods that must leave a node for a pod. */
export interface Candidate {
  readonly node: NodeInfo;
  /** The most important one first, with those of its group on other nodes. */
  readonly victims: readonly Pod[];
  /** Number of them that a PodDisruptionBudget protects. */
  readonly violations: number;
}
