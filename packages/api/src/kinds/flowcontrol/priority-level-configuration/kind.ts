import { PriorityLevelConfiguration } from "../../../generated/flowcontrol/v1.ts";
import { defineKind } from "../../define.ts";
import { defaultPriorityLevel } from "./defaults.ts";
import { priorityLevelValidation } from "./validation.ts";

export const priorityLevelConfiguration = defineKind(PriorityLevelConfiguration, {
  defaults: defaultPriorityLevel,
  validation: priorityLevelValidation,
});
