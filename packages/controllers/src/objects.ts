/** What the controllers make of objects, for those who have objects and no cluster. */
export { claimNameBase, podClaimAnnotation } from "./devices/claim-names.ts";
export { consumerOf, isForPod, isGroupClaim, isReservedForPod } from "./devices/consumers.ts";
export { controllerOf, controllerReference, refersTo } from "./owners.ts";
export { isDone } from "./pods.ts";
export { judgeNode, targetNode, templateFor } from "./workloads/daemon-nodes.ts";
export { maxSurge, podTemplateHash } from "./workloads/deployment-plan.ts";
