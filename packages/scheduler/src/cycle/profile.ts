import type { EventRecorder } from "@dray/client";
import type { ExtensionPoints } from "../framework/extension-points.ts";
import type { SchedulingCycle } from "./scheduling-cycle.ts";

/** How pods of one `spec.schedulerName` are scheduled. */
export interface Profile {
  readonly name: string;
  readonly points: ExtensionPoints;
  readonly cycle: SchedulingCycle;
  /** Reports as the profile. */
  readonly recorder: EventRecorder;
}
