import type { Pod } from "@dray/api/core/v1";
import type { NodeInfo } from "./node-info.ts";

/** Why a plugin turns a pod or a node down; a refusal is data, rendered at the edge. */
export interface Rejection {
  readonly plugin: string;
  readonly reasons: readonly string[];
  /** False: removing other pods from the node would not help (UnschedulableAndUnresolvable). */
  readonly resolvable: boolean;
}

/** What PreFilter found: nothing to do for this pod, a rejection of every node, or the only nodes that may do. */
export type PreFilterResult =
  | { readonly type: "continue"; readonly nodes?: ReadonlySet<string> }
  | { readonly type: "skip" }
  | { readonly type: "reject"; readonly rejection: Rejection };

/** Something happened in the cluster that may let a waiting pod be scheduled. */
export type ClusterEvent =
  | { readonly kind: "node"; readonly change: "add" | "update"; readonly name: string }
  /** A pod that was on a node is gone or has ended, or its labels changed. */
  | { readonly kind: "assigned-pod"; readonly pod: Pod }
  /** The waiting pod itself changed. */
  | { readonly kind: "own-pod"; readonly uid: string }
  | { readonly kind: "claim"; readonly namespace: string; readonly name: string; readonly freed: boolean }
  | { readonly kind: "class" }
  | { readonly kind: "slice" }
  /** A volume, a claim to one, or a class of them. */
  | { readonly kind: "volume" }
  /** What the scheduler itself held for a pod is free again, or the scheduler has just begun. */
  | { readonly kind: "released" };

/** Values that plugins keep between the extension points of one attempt, by plugin name. */
export type CycleState = Map<string, unknown>;

/**
 * A plugin of the scheduling framework (KEP-624): each method is one extension point. Methods up to `reserve` are
 * synchronous, so that nothing can change between them; what they throw fails the whole attempt.
 */
export interface Plugin {
  readonly name: string;
  /** What it says of a node depends on pods of other nodes, too. */
  readonly looksAround?: true;
  /** Weight of its score. */
  readonly weight?: number;
  /** A message: the pod is not worth trying yet. */
  preEnqueue?(pod: Pod): string | undefined;
  preFilter?(state: CycleState, pod: Pod, nodes: readonly NodeInfo[]): PreFilterResult;
  filter?(state: CycleState, pod: Pod, node: NodeInfo): Rejection | undefined;
  /** After all nodes were rejected: may change something so that a later attempt succeeds. Answers what it did or found. */
  postFilter?(
    state: CycleState,
    pod: Pod,
    rejections: ReadonlyMap<string, Rejection>,
  ): Promise<string | undefined>;
  /** Higher is better; made comparable by `normalize`, else from 0 to 100. */
  score?(state: CycleState, pod: Pod, node: NodeInfo): number;
  normalize?(scores: Map<string, number>): void;
  /** Takes in memory what the pod needs on the node. */
  reserve?(state: CycleState, pod: Pod, node: NodeInfo): Rejection | undefined;
  /**
   * Gives back what `reserve` took, and what `preBind` wrote. Called for every plugin, in reverse order, also when
   * `reserve` or `preBind` was not reached or has thrown. The pod has a node if another scheduler has bound it.
   */
  unreserve?(state: CycleState, pod: Pod, node: NodeInfo): Promise<void>;
  /** Writes what has to be there before the pod is bound. */
  preBind?(state: CycleState, pod: Pod, node: NodeInfo): Promise<void>;
  /** Whether the event may let a pod through that this plugin has rejected (KEP-4247, queueing hints). */
  mayHelp(pod: Pod, event: ClusterEvent): boolean;
}

/** The highest score after normalisation. */
export const maxScore = 100;

/** Scales scores to 0..100 by the highest; `reverse`: the lowest becomes best. */
export function normalizeByHighest(scores: Map<string, number>, reverse = false): void {
  let highest = 0;
  for (const score of scores.values()) highest = Math.max(highest, score);
  for (const [node, score] of scores) {
    const scaled = highest === 0 ? 0 : Math.floor((score * maxScore) / highest);
    scores.set(node, reverse ? maxScore - scaled : scaled);
  }
}
