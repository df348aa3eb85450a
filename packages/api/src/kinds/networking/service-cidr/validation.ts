import { networkFamily, networkRule } from "../../../checks/address.ts";
import type { FieldErrors } from "../../../checks/field.ts";
import { checkFinalizerNames, checkMetadata } from "../../../checks/metadata.ts";
import { checkObjectUpdate } from "../../../checks/objects.ts";
import type { ServiceCIDR } from "../../../generated/networking/v1.ts";
import { dnsSubdomain } from "../../../values/names.ts";

const cidrsPath = "spec.cidrs";

function checkRanges(errors: FieldErrors, { spec }: ServiceCIDR): void {
  const cidrs = spec?.cidrs ?? [];
  if (cidrs.length === 0) {
    errors.at(cidrsPath).required("at least one CIDR required");
    return;
  }
  if (cidrs.length > 2) {
    errors.at(cidrsPath).invalid({ CIDRs: cidrs }, "may only hold up to 2 values");
    return;
  }
  for (const [index, cidr] of cidrs.entries()) errors.at(cidrsPath).index(index).check(networkRule, cidr);
  const [first, second] = cidrs.map(networkFamily);
  if (cidrs.length === 2 && first === second && first !== undefined) {
    errors
      .at(cidrsPath)
      .invalid(
        cidrs,
        "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64",
      );
  }
}

export const serviceCIDRValidation = {
  create(errors: FieldErrors, object: ServiceCIDR): void {
    checkMetadata(errors.at("metadata"), object.metadata, dnsSubdomain, false);
    checkFinalizerNames(errors.at("metadata"), object.metadata);
    checkRanges(errors, object);
  },
  // One range may get a second one of the other family; all else stays as it is.
  update(errors: FieldErrors, object: ServiceCIDR, old: ServiceCIDR): void {
    checkObjectUpdate(errors, object, old);
    const [cidrs, before] = [object.spec?.cidrs ?? [], old.spec?.cidrs ?? []];
    const grows = before.length === 1 && cidrs.length === 2;
    if (!grows && cidrs.length !== before.length) {
      const shown =
        object.spec?.cidrs ?? (errors.provenance.cameEmpty(object.spec, "cidrs") ? [] : undefined);
      errors.at(cidrsPath).invalid(shown, "field is immutable");
      return;
    }
    for (const [index, cidr] of before.entries())
      if (cidrs[index] !== cidr)
        errors.at(cidrsPath).index(index).invalid(cidrs[index], "field is immutable");
    if (grows) checkRanges(errors, object);
  },
};
