import { type FieldErrors, sameValue } from "../../../checks/field.ts";
import { checkObject, checkObjectUpdate } from "../../../checks/objects.ts";
import { VolumeAttributesClass } from "../../../generated/storage/v1.ts";
import { dnsSubdomain } from "../../../values/names.ts";
import { defineKind } from "../../define.ts";
import { checkParameters, checkProvisioner } from "../class-parameters.ts";

const volumeAttributesClassValidation = {
  create(errors: FieldErrors, object: VolumeAttributesClass): void {
    checkObject(errors, object, dnsSubdomain, false);
    checkProvisioner(errors.at("driverName"), object.driverName);
    checkParameters(errors, object.parameters, false);
  },
  update(errors: FieldErrors, object: VolumeAttributesClass, old: VolumeAttributesClass): void {
    checkObjectUpdate(errors, object, old);
    if (object.driverName !== old.driverName)
      errors.at("driverName").forbidden("updates to driverName are forbidden.");
    if (!sameValue(object.parameters, old.parameters))
      errors.at("parameters").forbidden("updates to parameters are forbidden.");
    this.create(errors, object);
  },
};

export const volumeAttributesClass = defineKind(VolumeAttributesClass, {
  validation: volumeAttributesClassValidation,
});
