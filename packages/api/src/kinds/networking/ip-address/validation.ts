import { addressRule } from "../../../checks/address.ts";
import { checkImmutable, type FieldErrors } from "../../../checks/field.ts";
import { internalForm } from "../../../checks/internal.ts";
import { checkFinalizerNames, checkMetadata } from "../../../checks/metadata.ts";
import { checkObjectUpdate } from "../../../checks/objects.ts";
import type { IPAddress } from "../../../generated/networking/v1.ts";
import { dnsSubdomain, pathSegment } from "../../../values/names.ts";

function checkAddress(errors: FieldErrors, object: IPAddress): void {
  checkMetadata(errors.at("metadata"), object.metadata, addressRule, false);
  checkFinalizerNames(errors.at("metadata"), object.metadata);
  const parent = object.spec?.parentRef;
  const here = errors.at("spec.parentRef");
  if (!parent) {
    here.required();
    return;
  }
  if (parent.group) here.at("group").check(dnsSubdomain, parent.group);
  here.at("resource").checkRequired(pathSegment, parent.resource);
  here.at("name").checkRequired(pathSegment, parent.name);
  if (parent.namespace) here.at("namespace").check(pathSegment, parent.namespace);
}

export const ipAddressValidation = {
  create: checkAddress,
  update(errors: FieldErrors, object: IPAddress, old: IPAddress): void {
    checkAddress(errors, object);
    checkObjectUpdate(errors, object, old);
    const parent = object.spec?.parentRef;
    checkImmutable(errors.at("spec.parentRef"), parent, old.spec?.parentRef, () =>
      internalForm("networking/v1.ParentReference", parent, errors),
    );
  },
};
