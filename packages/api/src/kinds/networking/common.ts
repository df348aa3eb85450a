import { addressFamily } from "../../checks/address.ts";
import type { ValidationContext } from "../../checks/context.ts";
import type { FieldErrors } from "../../checks/field.ts";
import {
  isLinkLocalMulticast,
  isLinkLocalUnicast,
  isLoopback,
  isUnspecified,
  parseSloppyAddress,
  unmapped,
} from "../../values/ip.ts";
import { dns1035Label, dnsLabel, dnsSubdomain, type NameRule, pathSegment } from "../../values/names.ts";

interface Reference {
  readonly apiGroup?: string;
  readonly kind?: string;
  readonly name?: string;
}

/** A reference to an object of any kind. */
export function checkReference(errors: FieldErrors, reference: Reference): void {
  const { apiGroup } = reference;
  if (apiGroup !== undefined && apiGroup !== null) errors.at("apiGroup").check(dnsSubdomain, apiGroup);
  errors.at("kind").checkRequired(pathSegment, reference.kind);
  errors.at("name").checkRequired(pathSegment, reference.name);
}

/** A host name of DNS, which no address is. */
export function checkHost(errors: FieldErrors, host: string | undefined): void {
  if (!host) return;
  errors.check(dnsSubdomain, host);
  if (addressFamily(host) !== undefined) errors.invalid(host, "must be a DNS name, not an IP address");
}

/**
 * Rejects addresses that cannot be endpoints: unspecified, loopback and link-local ones.
 * Upstream: pkg/apis/core/validation/validation.go, ValidateEndpointIP.
 */
export function checkEndpointAddress(
  errors: FieldErrors,
  text: string,
  { loopbackEndpoints }: Pick<ValidationContext, "loopbackEndpoints">,
): void {
  const read = parseSloppyAddress(text);
  if (read === undefined) {
    errors.invalid(text, "must be a valid IP address");
    return;
  }
  const address = unmapped(read);
  if (isUnspecified(address)) errors.invalid(text, `may not be unspecified (${text})`);
  if (isLoopback(address) && !(loopbackEndpoints && address.bits === 32)) {
    errors.invalid(text, "may not be in the loopback range (127.0.0.0/8, ::1/128)");
  }
  if (isLinkLocalUnicast(address)) {
    errors.invalid(text, "may not be in the link-local range (169.254.0.0/16, fe80::/10)");
  }
  if (isLinkLocalMulticast(address)) {
    errors.invalid(text, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)");
  }
}

/** Names of services; from 1.36 they may begin with a digit (KEP-5311). */
export const serviceNameRule = ({ features }: ValidationContext): NameRule =>
  features.version >= "1.36" ? dnsLabel : dns1035Label;

export const protocols = ["SCTP", "TCP", "UDP"];
