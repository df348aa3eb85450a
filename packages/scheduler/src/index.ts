export { ProfileError } from "./choose-plugins.ts";
export {
  ConfigurationError,
  parseSchedulerConfiguration,
  readSchedulerConfiguration,
} from "./config/read.ts";
export type { SchedulerConfiguration } from "./config/types.ts";
export type * from "./framework.ts";
export type { NodeInfo } from "./node-info.ts";
export {
  createOfflineScheduler,
  type OfflineObject,
  type OfflineOptions,
  type OfflineScheduler,
  type Placement,
} from "./offline.ts";
export type { PluginHandle, SchedulerOptions } from "./options.ts";
export { hasPodGroups } from "./pod-groups.ts";
export { type Scheduler, startScheduler } from "./scheduler.ts";
