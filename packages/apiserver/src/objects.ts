/** What the server does to objects that come in, for those who have objects and no server. */
export { chooseGroupPriority, choosePriority, systemPriorityClasses } from "./admission/priority.ts";
export { tolerateOutages } from "./admission/tolerations.ts";
export { podReferences } from "./authorization/pod-references.ts";
export { convert } from "./registry/conversion/index.ts";
export { selectOwnPods } from "./registry/jobs.ts";
export { type ServedResource, servedResources } from "./registry/kinds.ts";
export { deviceSelectors } from "./registry/selectors.ts";
