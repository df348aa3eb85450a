/** Processing of incoming objects, for callers without a server. */
export { chooseGroupPriority, choosePriority, systemPriorityClasses } from "./admission/priority.ts";
export { tolerateOutages } from "./admission/tolerations.ts";
export { podReferences } from "./authorization/pod-references.ts";
export { subjectKey } from "./authorization/rbac.ts";
export { uncovered } from "./authorization/rules.ts";
export { serviceAccountPrefix } from "./authorization/service-account-name.ts";
export { selectOwnPods } from "./kinds/batch/job/strategy.ts";
export { convert } from "./kinds/conversion.ts";
export { deviceSelectors } from "./kinds/resource/device-selectors.ts";
export { gateOfKind, type ServedResource, servedResources } from "./kinds/resources.ts";
