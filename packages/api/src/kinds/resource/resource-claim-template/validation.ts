import type { ValidationContext } from "../../../checks/context.ts";
import { checkImmutable, type FieldErrors } from "../../../checks/field.ts";
import { internalForm } from "../../../checks/internal.ts";
import {
  checkFinalizerNames,
  checkMetadata,
  checkMetadataUpdate,
  checkTemplateMetadata,
} from "../../../checks/metadata.ts";
import type { ResourceClaimTemplate } from "../../../generated/resource/v1.ts";
import { dnsSubdomain } from "../../../values/names.ts";
import { checkAdminAccess, checkSpec } from "../resource-claim/validation.ts";

export function checkTemplate(
  errors: FieldErrors,
  template: ResourceClaimTemplate,
  context: ValidationContext,
): void {
  checkAdminAccess(errors, template.spec?.spec, context);
  checkWholeTemplate(errors, template, context);
}

function checkWholeTemplate(
  errors: FieldErrors,
  template: ResourceClaimTemplate,
  context: ValidationContext,
): void {
  checkMetadata(errors.at("metadata"), template.metadata, dnsSubdomain, true);
  checkFinalizerNames(errors.at("metadata"), template.metadata);
  checkTemplateMetadata(errors.at("spec.metadata"), template.spec?.metadata);
  checkSpec(errors.at("spec.spec"), template.spec?.spec, context);
}

export function checkTemplateUpdate(
  errors: FieldErrors,
  template: ResourceClaimTemplate,
  old: ResourceClaimTemplate,
  context: ValidationContext,
): void {
  // Both the rules of new ones and those of updates, as the strategy of upstream has it.
  checkWholeTemplate(errors, template, context);
  checkMetadataUpdate(errors.at("metadata"), template.metadata, old.metadata);
  checkFinalizerNames(errors.at("metadata"), template.metadata);
  const type = "resource/v1.ResourceClaimTemplateSpec";
  const printed = (): unknown => internalForm(type, template.spec ?? {}, errors);
  checkImmutable(errors.at("spec"), template.spec, old.spec, printed);
}
