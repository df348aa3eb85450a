/** IPAddress and ServiceCIDR (KEP-1880). */
import { cameEmpty } from "../../codec/empty.ts";
import type { IPAddress, ServiceCIDR } from "../../generated/networking/v1.ts";
import { dnsSubdomain, pathSegment } from "../../values/names.ts";
import { addressRule, networkFamily, networkRule } from "../address.ts";
import type { ValidationContext } from "../context.ts";
import { checkImmutable, type FieldErrors } from "../field.ts";
import { internalForm } from "../internal.ts";
import { checkFinalizerNames, checkMetadata } from "../metadata.ts";
import { checkObjectUpdate } from "../workloads/common.ts";

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

export const ipAddress = {
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

const cidrsPath = "spec.cidrs";

function checkRanges(errors: FieldErrors, { spec }: ServiceCIDR): void {
  const cidrs = spec?.cidrs ?? [];
  if (cidrs.length === 0) {
    errors.required(cidrsPath, "at least one CIDR required");
    return;
  }
  if (cidrs.length > 2) {
    errors.invalid(cidrsPath, { CIDRs: cidrs }, "may only hold up to 2 values");
    return;
  }
  for (const [index, cidr] of cidrs.entries()) errors.check(networkRule, `${cidrsPath}[${index}]`, cidr);
  const [first, second] = cidrs.map(networkFamily);
  if (cidrs.length === 2 && first === second && first !== undefined) {
    errors.invalid(
      cidrsPath,
      cidrs,
      "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64",
    );
  }
}

export const serviceCIDR = {
  create(errors: FieldErrors, object: ServiceCIDR): void {
    checkMetadata(errors, "metadata", object.metadata, dnsSubdomain, false);
    checkFinalizerNames(errors, "metadata", object.metadata);
    checkRanges(errors, object);
  },
  // One range may get a second one of the other family; all else stays as it is.
  update(errors: FieldErrors, object: ServiceCIDR, old: ServiceCIDR): void {
    checkObjectUpdate(errors, object, old);
    const [cidrs, before] = [object.spec?.cidrs ?? [], old.spec?.cidrs ?? []];
    const grows = before.length === 1 && cidrs.length === 2;
    if (!grows && cidrs.length !== before.length) {
      const shown = object.spec?.cidrs ?? (cameEmpty(object.spec, "cidrs") ? [] : undefined);
      errors.invalid(cidrsPath, shown, "field is immutable");
      return;
    }
    for (const [index, cidr] of before.entries())
      if (cidrs[index] !== cidr) errors.invalid(`${cidrsPath}[${index}]`, cidrs[index], "field is immutable");
    if (grows) checkRanges(errors, object);
  },
};
