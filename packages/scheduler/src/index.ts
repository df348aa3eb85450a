export type { Rejection } from "./framework.ts";
export {
  createOfflineScheduler,
  type OfflineObject,
  type OfflineOptions,
  type OfflineScheduler,
  type Placement,
} from "./offline.ts";
export { type Scheduler, type SchedulerOptions, startScheduler } from "./scheduler.ts";
