import { ControllerRevision } from "../../../generated/apps/v1.ts";
import { defineKind } from "../../define.ts";
import { controllerRevisionValidation } from "./validation.ts";

export const controllerRevision = defineKind(ControllerRevision, {
  validation: controllerRevisionValidation,
});
