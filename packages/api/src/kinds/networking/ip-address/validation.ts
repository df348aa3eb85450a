import { addressRule } from "../../../checks/address.ts";
import type { ValidationContext } from "../../../checks/context.ts";
import { checkImmutable, type FieldErrors } from "../../../checks/field.ts";
import { internalForm } from "../../../checks/internal.ts";
import { checkFinalizerNames, checkMetadata } from "../../../checks/metadata.ts";
import { checkObjectUpdate } from "../../../checks/objects.ts";
import type { IPAddress } from "../../../generated/networking/v1.ts";
import { dnsSubdomain, pathSegment } from "../../../values/names.ts";

function checkAddress(errors: FieldErrors, object: IPAddress): void {
  checkMetadata(errors, "metadata", object.metadata, addressRule, false);
  checkFinalizerNames(errors, "metadata", object.metadata);
  const parent = object.spec?.parentRef;
  const path = "spec.parentRef";
  if (!parent) {
    errors.required(path);
    return;
  }
  if (parent.group) errors.check(dnsSubdomain, `${path}.group`, parent.group);
  errors.checkRequired(pathSegment, `${path}.resource`, parent.resource);
  errors.checkRequired(pathSegment, `${path}.name`, parent.name);
  if (parent.namespace) errors.check(pathSegment, `${path}.namespace`, parent.namespace);
}

export const ipAddressValidation = {
  create: checkAddress,
  update(errors: FieldErrors, object: IPAddress, old: IPAddress, context: ValidationContext): void {
    checkAddress(errors, object);
    checkObjectUpdate(errors, object, old);
    const parent = object.spec?.parentRef;
    checkImmutable(errors, "spec.parentRef", parent, old.spec?.parentRef, () =>
      internalForm("networking/v1.ParentReference", parent, context.features.version),
    );
  },
};
