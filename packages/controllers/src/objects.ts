/** What the controllers make of objects, for those who have objects and no cluster. */
export { claimNameBase, podClaimAnnotation } from "./claim-names.ts";
export { judgeNode, targetNode, templateFor } from "./daemon-nodes.ts";
export { maxSurge, podTemplateHash } from "./deployment-plan.ts";
export { controllerOf, controllerReference, refersTo } from "./owners.ts";
export { isDone } from "./pods.ts";
