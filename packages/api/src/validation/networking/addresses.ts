/** IPAddress and ServiceCIDR (KEP-1880). */
import { cameEmpty } from "../../codec/empty.ts";
import type { IPAddress, ServiceCIDR } from "../../generated/networking/v1.ts";
import { dnsSubdomain, type NameRule, pathSegment } from "../../names.ts";
import { quoted } from "../../quoted.ts";
import { canonicalAddress } from "../address.ts";
import type { ValidationContext } from "../context.ts";
import { checkImmutable, type FieldErrors } from "../field.ts";
import { internalForm } from "../internal.ts";
import { checkFinalizerNames, checkMetadata } from "../metadata.ts";
import { checkObjectUpdate } from "../workloads/common.ts";
import { bitsOf } from "./common.ts";

const isMapped = (canonical: string): boolean => canonical.startsWith("::ffff:") && canonical.includes(".");
const hasLeadingZeros = (address: string): boolean =>
  /(^|[.:])0\d+(\.|$)/.test(address) && address.includes(".");
/** An IPv4 address that is written as one of IPv6 means the IPv4 address. */
const plain = (canonical: string): string => (isMapped(canonical) ? canonical.slice(7) : canonical);

/** An address in the one form that Kubernetes keeps it in (IsValidIP). */
const address: NameRule = (value) => {
  const canonical = canonicalAddress(value);
  if (canonical === undefined) return ["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"];
  if (hasLeadingZeros(value)) return ["must not have leading 0s"];
  if (isMapped(canonical)) return ["must not be an IPv4-mapped IPv6 address"];
  return canonical === value ? [] : [`must be in canonical form (${quoted(canonical)})`];
};

interface Network {
  readonly address: string;
  readonly prefix: number;
}

/** Reads a CIDR as Kubernetes always did: zeros before a number are passed over. */
function networkOf(value: string): Network | undefined {
  const at = value.lastIndexOf("/");
  const canonical = canonicalAddress(value.slice(0, Math.max(at, 0)));
  const digits = value.slice(at + 1);
  if (canonical === undefined || !/^\d+$/.test(digits)) return undefined;
  const prefix = Number(digits);
  return prefix <= (canonical.includes(":") ? 128 : 32) ? { address: canonical, prefix } : undefined;
}

/** A network in the one form that Kubernetes keeps it in (IsValidCIDR). */
const network: NameRule = (value) => {
  const read = networkOf(value);
  if (read === undefined) return ["must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"];
  if (hasLeadingZeros(value.slice(0, value.lastIndexOf("/"))) || /\/0\d/.test(value))
    return ["must not have leading 0s in IP or prefix length"];
  if (isMapped(read.address)) return ["must not have an IPv4-mapped IPv6 address"];
  if (bitsOf(read.address).slice(read.prefix).includes("1"))
    return ["must not have bits set beyond the prefix length"];
  const canonical = `${read.address}/${read.prefix}`;
  return canonical === value ? [] : [`must be in canonical form (${quoted(canonical)})`];
};

const isSix = (cidr: string): boolean | undefined => {
  const read = networkOf(cidr);
  return read === undefined ? undefined : plain(read.address).includes(":");
};

function checkAddress(errors: FieldErrors, object: IPAddress): void {
  checkMetadata(errors, "metadata", object.metadata, address, false);
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
  for (const [index, cidr] of cidrs.entries()) errors.check(network, `${cidrsPath}[${index}]`, cidr);
  const [first, second] = cidrs.map(isSix);
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
