import type { Pod } from "@dray/api/core/v1";
import type { ClusterEvent, WaitingPodInfo } from "../framework/framework.ts";
import { priorityOf } from "../framework/priority.ts";

export type Place =
  /** Ready to be tried. */
  | "active"
  /** To be tried when its time has come. */
  | "backoff"
  /** Rejected; waits for an event that a plugin finds helpful. */
  | "unschedulable"
  /** Turned away by PreEnqueue. */
  | "gated"
  /** Being scheduled or bound. */
  | "in-flight";

/** In the place of a plugin that has rejected a pod: every event counts. */
export const anyEvent = "";

export interface QueuedPod extends WaitingPodInfo {
  pod: Pod;
  place: Place;
  /** Order of arrival. */
  readonly sequence: number;
  attempts: number;
  since: number;
  /** When this attempt began, in the milliseconds of metrics. */
  attemptSince: number;
  /** When it was ready to be tried for the first time. */
  firstActive?: number;
  /** It came back since nothing had helped it for long. */
  flushed: boolean;
  /** Rejections, and errors since the last of them: they count for the back-off. */
  rejections: number;
  errors: number;
  /** Names of the plugins that rejected it last; empty after an error. */
  rejectedBy: readonly string[];
  /** Name of the plugin whose PreEnqueue turned it away. */
  gatedBy?: string;
  /** Events that came while it was in flight. */
  missed: ClusterEvent[];
  backOffUntil: number;
}

/** PrioritySort: the highest priority first, then the pod that waits longest. */
export function byPriority(a: WaitingPodInfo, b: WaitingPodInfo): boolean {
  const [high, low] = [priorityOf(a.pod), priorityOf(b.pod)];
  return high === low ? a.since < b.since : high > low;
}
