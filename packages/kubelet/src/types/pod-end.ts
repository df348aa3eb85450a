import type { Pod } from "@dray/api/core/v1";
import type { Refusal } from "./refusal.ts";

/** Why and how the node ends a pod before its time. */
export interface PodEnd extends Refusal {
  /** Grace period of the containers in seconds; the pod's by default. */
  readonly graceSeconds?: number;
  /** Adds the condition `DisruptionTarget` to the status (KEP-3329). */
  readonly isDisruption?: boolean;
}

/** Reason in the status of pods that ended with their node. */
export const shutdownReason = "Terminated";

/** True for a pod that the node ended at its shutdown: a static one runs again when the node is back. */
export function endedWithNode({ status }: Pick<Pod, "status">): boolean {
  return status?.phase === "Failed" && status.reason === shutdownReason;
}
