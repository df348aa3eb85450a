export { type Scheduler, startScheduler } from "./component/scheduler.ts";
export {
  ConfigurationError,
  parseSchedulerConfiguration,
  readSchedulerConfiguration,
} from "./config/read.ts";
export type { SchedulerConfiguration } from "./config/types.ts";
export type * from "./framework/framework.ts";
export type { NodeInfo } from "./framework/node-info.ts";
export { createOfflineScheduler } from "./offline/offline.ts";
export { ignoredParts } from "./offline/profiles.ts";
export type { Shortage } from "./offline/shortages.ts";
export type { OfflineObject, OfflineOptions, OfflineScheduler, Placement } from "./offline/types.ts";
export {
  extendedClaimOf,
  isExtended as isExtendedResource,
  resourcesOf as extendedResourcesOf,
} from "./plugins/dynamic-resources/extended-resources.ts";
export { hasPodGroups } from "./podgroup/pod-groups.ts";
export { ProfileError } from "./profile/choose-plugins.ts";
export type { PluginHandle, SchedulerOptions } from "./shared/options.ts";
