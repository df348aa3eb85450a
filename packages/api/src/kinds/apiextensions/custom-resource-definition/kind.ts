import { CustomResourceDefinition } from "../../../generated/apiextensions/v1.ts";
import { defineKind } from "../../define.ts";
import { customResourceDefinitionValidation } from "./validation.ts";

export const customResourceDefinition = defineKind(CustomResourceDefinition, {
  validation: customResourceDefinitionValidation,
});
