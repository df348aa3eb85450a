import type { ValidationContext } from "../../../checks/context.ts";
import { type FieldErrors, sameValue } from "../../../checks/field.ts";
import { checkFinalizerNames, checkMetadata, checkMetadataUpdate } from "../../../checks/metadata.ts";
import { DeviceClass } from "../../../generated/resource/v1.ts";
import { dnsSubdomain, isExtendedResourceName, type NameRule } from "../../../values/names.ts";
import { defineKind } from "../../define.ts";
import { limits } from "../names.ts";
import { checkConfiguration } from "../resource-claim/validation.ts";
import { checkSelectors } from "../selectors.ts";

/** As other names, but the message gives the limit in bytes. */
const className: NameRule = (name) =>
  dnsSubdomain(name).map((problem) => problem.replace(/ characters$/, " bytes"));

function checkSpec(
  errors: FieldErrors,
  { spec }: DeviceClass,
  old: DeviceClass | undefined,
  context: ValidationContext,
): void {
  // Lists that did not change count as stored: their rules may have become stricter since.
  const storedSelectors = old !== undefined && sameValue(spec?.selectors, old.spec?.selectors);
  checkSelectors(errors.at("spec.selectors"), spec?.selectors, context, storedSelectors);
  const storedConfig = old !== undefined && sameValue(spec?.config, old.spec?.config, errors.provenance);
  errors
    .at("spec.config")
    .items(spec?.config, limits.config, (here, config) => checkConfiguration(here, config, storedConfig));
  const name = spec?.extendedResourceName;
  if (name !== undefined && !isExtendedResourceName(name)) {
    errors.at("spec.extendedResourceName").invalid(name, "must be a valid extended resource name");
  }
}

function checkClass(errors: FieldErrors, deviceClass: DeviceClass, context: ValidationContext): void {
  checkMetadata(errors.at("metadata"), { ...deviceClass.metadata, generateName: "" }, className, false);
  checkFinalizerNames(errors.at("metadata"), deviceClass.metadata);
  checkSpec(errors, deviceClass, undefined, context);
}

function checkClassUpdate(
  errors: FieldErrors,
  deviceClass: DeviceClass,
  old: DeviceClass,
  context: ValidationContext,
): void {
  checkMetadata(errors.at("metadata"), { ...deviceClass.metadata, generateName: "" }, className, false);
  checkFinalizerNames(errors.at("metadata"), deviceClass.metadata);
  checkMetadataUpdate(errors.at("metadata"), deviceClass.metadata, old.metadata);
  checkFinalizerNames(errors.at("metadata"), deviceClass.metadata);
  checkSpec(errors, deviceClass, old, context);
}

export const deviceClass = defineKind(DeviceClass, {
  validation: { create: checkClass, update: checkClassUpdate },
});
