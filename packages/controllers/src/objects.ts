/** Rules of the controllers as pure functions, for callers without a cluster. */

export { shouldRunDaemonPod, targetNode, templateFor } from "./daemon/nodes.ts";
export { maxSurge, podTemplateHash } from "./deployment/plan.ts";
export { claimEviction, type Eviction, selects } from "./devicetainteviction/evictions.ts";
export { evictingClaims, podEviction } from "./devicetainteviction/pod-eviction.ts";
export { claimNameBase, podClaimAnnotation } from "./resourceclaim/names.ts";
export { consumerOf, isForPod, isGroupClaim, isReservedForPod } from "./shared/claim-consumers.ts";
export { controllerOf, controllerReference, refersTo } from "./shared/owners.ts";
export { isDone } from "./shared/pods.ts";
