/** Rules about pods that several components apply. */
export { type Amounts, amountsOf, listOf } from "../values/amounts.ts";
export { podClaimName } from "./claims.ts";
export { canRestartAll, isSidecar, restartsAfter, restartsAllAfter, sidecarsOf } from "./containers.ts";
export { isPodActive, isPodReady, isPodTerminal, type PodWithPhase } from "./phase.ts";
export { podQosClass } from "./qos.ts";
export { defaultPodLevelResources } from "./resource-defaults.ts";
export {
  claimsOfContainer,
  containerTotal,
  hasPodLevelRequests,
  hasPodLevelResources,
  isPodLevelResource,
  type PodResourceOptions,
  podLimits,
  podRequests,
  type ResourceSide,
} from "./resources.ts";
