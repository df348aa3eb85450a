import type { Pod } from "@dray/api/core/v1";
import type { Refusal } from "./refusal.ts";

/** Why and how the node ends a pod before its time. */
export interface PodEnd extends Refusal {
  /** Seconds that containers may take to end; as the pod says if absent. */
  readonly graceSeconds?: number;
  /** The pod's status says so in a condition `DisruptionTarget` (KEP-3329). */
  readonly isDisruption?: boolean;
}

/** Of the status of pods that ended with their node. */
export const shutdownReason = "Terminated";

/** True for a pod that the node ended because it was shut down: a static one runs again when the node is back. */
export function endedWithNode({ status }: Pick<Pod, "status">): boolean {
  return status?.phase === "Failed" && status.reason === shutdownReason;
}
