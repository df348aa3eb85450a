import { FlowSchema } from "../../../generated/flowcontrol/v1.ts";
import { defineKind } from "../../define.ts";
import { defaultFlowSchema } from "./defaults.ts";
import { flowSchemaValidation } from "./validation.ts";

export const flowSchema = defineKind(FlowSchema, {
  defaults: defaultFlowSchema,
  validation: flowSchemaValidation,
});
