import { ResourceClaimTemplate } from "../../../generated/resource/v1.ts";
import { defineKind } from "../../define.ts";
import { defaultOldTemplate, defaultTemplate } from "./defaults.ts";
import { checkTemplate, checkTemplateUpdate } from "./validation.ts";

export const resourceClaimTemplate = defineKind(ResourceClaimTemplate, {
  defaults: defaultTemplate,
  versionDefaults: { v1beta1: defaultOldTemplate },
  validation: { create: checkTemplate, update: checkTemplateUpdate },
});
