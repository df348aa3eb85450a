import { PriorityClass } from "../../../generated/scheduling/v1.ts";
import { defineKind } from "../../define.ts";
import { priorityClassValidation } from "./validation.ts";

function defaultPriorityClass(priorityClass: PriorityClass): void {
  priorityClass.preemptionPolicy ??= "PreemptLowerPriority";
}

export const priorityClass = defineKind(PriorityClass, {
  defaults: defaultPriorityClass,
  validation: priorityClassValidation,
});
