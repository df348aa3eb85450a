/** Rules about pods that several components apply. */
export type { Amounts } from "../values/amounts.ts";
export { amountsOf, listOf } from "../values/amounts.ts";
export type { CreatedPodClaim, PodClaim } from "./claims.ts";
export { createdPodClaims, hasClaims, podClaimName, podClaims } from "./claims.ts";
export { canRestartAll, isSidecar, restartsAfter, restartsAllAfter, sidecarsOf } from "./containers.ts";
export type { PodWithPhase } from "./phase.ts";
export { isPodActive, isPodReady, isPodTerminal } from "./phase.ts";
export type { PlacedPodSpec } from "./pod-specs.ts";
export { podSpecsOf } from "./pod-specs.ts";
export { podQosClass } from "./qos.ts";
export { defaultPodLevelResources } from "./resource-defaults.ts";
export type { PodResourceOptions, ResourceSide } from "./resources.ts";
export {
  claimsOfContainer,
  containerTotal,
  hasPodLevelRequests,
  hasPodLevelResources,
  isPodLevelResource,
  podLimits,
  podRequests,
} from "./resources.ts";
