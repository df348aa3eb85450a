import { changed } from "../../../checks/warnings/common.ts";
import { PodTemplate } from "../../../generated/core/v1.ts";
import { defineKind } from "../../define.ts";
import { defaultPodTemplate } from "../pod/defaults.ts";
import { podWarnings } from "../pod/warnings.ts";
import { podTemplateValidation } from "./validation.ts";

export const podTemplate = defineKind(PodTemplate, {
  validation: podTemplateValidation,
  defaults: ({ template }) => defaultPodTemplate(template),
  warnings: (object, old) => (changed(object, old) ? podWarnings("template.", object.template) : []),
});
