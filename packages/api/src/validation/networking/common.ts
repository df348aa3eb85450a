import { dns1035Label, dnsLabel, dnsSubdomain, type NameRule, pathSegment } from "../../names.ts";
import { canonicalAddress, canonicalInterfaceAddress } from "../address.ts";
import type { ValidationContext } from "../context.ts";
import type { FieldErrors } from "../field.ts";

/** `10.9.8.0/24`; bits beyond the prefix do not matter. */
export function checkNetwork(errors: FieldErrors, path: string, value: string): boolean {
  if (canonicalInterfaceAddress(value) !== undefined) return true;
  errors.invalid(path, value, "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)");
  return false;
}

/** The bits of an address, most significant first. */
export function bitsOf(address: string): string {
  const canonical = canonicalAddress(address) ?? "";
  if (!canonical.includes(":")) {
    return canonical
      .split(".")
      .map((part) => Number(part).toString(2).padStart(8, "0"))
      .join("");
  }
  const [head = "", tail] = canonical.split("::");
  const groups = (text: string): string[] => (text === "" ? [] : text.split(":"));
  const [first, last] = [groups(head), groups(tail ?? "")];
  const zeros = tail === undefined ? 0 : 8 - first.length - last.length;
  return [...first, ...Array<string>(zeros).fill("0"), ...last]
    .map((group) => Number.parseInt(group, 16).toString(2).padStart(16, "0"))
    .join("");
}

/** Whether the one network is part of the other, and smaller. */
export function isStrictlyWithin(inner: string, outer: string): boolean {
  const [innerAddress = "", innerBits] = inner.split("/");
  const [outerAddress = "", outerBits] = outer.split("/");
  const [small, large] = [bitsOf(innerAddress), bitsOf(outerAddress)];
  const length = Number(outerBits);
  return (
    small.length === large.length &&
    Number(innerBits) > length &&
    small.slice(0, length) === large.slice(0, length)
  );
}

interface Reference {
  readonly apiGroup?: string;
  readonly kind?: string;
  readonly name?: string;
}

/** A reference to an object of any kind. */
export function checkReference(errors: FieldErrors, path: string, reference: Reference): void {
  const { apiGroup } = reference;
  if (apiGroup !== undefined && apiGroup !== null) errors.check(dnsSubdomain, `${path}.apiGroup`, apiGroup);
  errors.checkRequired(pathSegment, `${path}.kind`, reference.kind);
  errors.checkRequired(pathSegment, `${path}.name`, reference.name);
}

/** A host name of DNS, which no address is. */
export function checkHost(errors: FieldErrors, path: string, host: string | undefined): void {
  if (!host) return;
  errors.check(dnsSubdomain, path, host);
  if (canonicalAddress(host) !== undefined)
    errors.invalid(path, host, "must be a DNS name, not an IP address");
}

/** What cannot be an endpoint: addresses that mean nothing, or only something on one machine. */
export function checkEndpointAddress(errors: FieldErrors, path: string, address: string): void {
  const canonical = canonicalAddress(address);
  if (canonical === undefined) {
    errors.invalid(path, address, "must be a valid IP address");
    return;
  }
  if (canonical === "0.0.0.0" || canonical === "::") {
    errors.invalid(path, address, `may not be unspecified (${address})`);
  }
  if (canonical.startsWith("127.") || canonical === "::1") {
    errors.invalid(path, address, "may not be in the loopback range (127.0.0.0/8, ::1/128)");
  }
  if (canonical.startsWith("169.254.") || /^fe[89ab]/.test(canonical)) {
    errors.invalid(path, address, "may not be in the link-local range (169.254.0.0/16, fe80::/10)");
  }
  if (canonical.startsWith("224.0.0.") || canonical.startsWith("ff02:")) {
    errors.invalid(path, address, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)");
  }
}

/** Names of services; from 1.36 they may begin with a digit (KEP-5311). */
export const serviceNameRule = ({ features }: ValidationContext): NameRule =>
  features.version >= "1.36" ? dnsLabel : dns1035Label;
