import type { PriorityClass } from "../generated/scheduling/v1.ts";

export function defaultPriorityClass(priorityClass: PriorityClass): void {
  priorityClass.preemptionPolicy ??= "PreemptLowerPriority";
}
