/** Processing of incoming objects, for callers without a server. */
export { chooseGroupPriority, choosePriority, systemPriorityClasses } from "./admission/priority.ts";
export { tolerateOutages } from "./admission/tolerations.ts";
export { podReferences } from "./authorization/pod-references.ts";
export { convert } from "./kinds/conversion/index.ts";
export { type ServedResource, servedResources } from "./kinds/resources.ts";
export { selectOwnPods } from "./strategies/jobs.ts";
export { deviceSelectors } from "./strategies/selectors.ts";
