import type { Pod } from "@dray/api/core/v1";

/** Priority of a pod; admission sets it, and 0 stands for none. */
export const priorityOf = (pod: Pod): number => pod.spec.priority ?? 0;
