import { StatefulSet } from "../../../generated/apps/v1.ts";
import { defineKind } from "../../define.ts";
import { defaultStatefulSet } from "./defaults.ts";
import { statefulSetValidation } from "./validation.ts";
import { statefulSetWarnings } from "./warnings.ts";

export const statefulSet = defineKind(StatefulSet, {
  defaults: defaultStatefulSet,
  validation: statefulSetValidation,
  warnings: statefulSetWarnings,
});
