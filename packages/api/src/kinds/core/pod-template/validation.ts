import type { ValidationContext } from "../../../checks/context.ts";
import type { FieldErrors } from "../../../checks/field.ts";
import { checkObject, checkObjectUpdate } from "../../../checks/objects.ts";
import type { PodTemplate } from "../../../generated/core/v1.ts";
import { checkTemplate } from "./template.ts";

export const podTemplateValidation = {
  create(errors: FieldErrors, object: PodTemplate, context: ValidationContext): void {
    checkObject(errors, object);
    checkTemplate(errors.at("template"), object.template, context);
  },
  update(errors: FieldErrors, object: PodTemplate, old: PodTemplate, context: ValidationContext): void {
    checkObjectUpdate(errors, object, old);
    checkTemplate(errors.at("template"), object.template, context);
  },
};
