/**
 * IP addresses and CIDRs in fields of the API.
 * Upstream: k8s.io/apimachinery/pkg/util/validation/ip.go.
 */
import type { KubernetesVersion } from "../features/features.ts";
import { quoted } from "../text/quoted.ts";
import {
  type Address,
  addressText,
  containsAddress,
  isMapped,
  masked,
  type Network,
  networkText,
  parseAddress,
  parseNetwork,
  parseSloppyAddress,
  parseSloppyNetwork,
  unmapped,
} from "../values/ip.ts";
import type { NameRule } from "../values/names.ts";
import type { FieldErrors } from "./field.ts";

const noAddress = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
const noNetwork = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
const noInterface = "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)";

export type AddressFamily = "IPv4" | "IPv6";

const familyOf = (address: Address): AddressFamily => (unmapped(address).bits === 32 ? "IPv4" : "IPv6");

/** The family of an address as old fields read it; undefined for anything else. */
export function addressFamily(text: string): AddressFamily | undefined {
  const address = parseSloppyAddress(text);
  return address && familyOf(address);
}

/** The same of a CIDR. */
export function networkFamily(text: string): AddressFamily | undefined {
  const network = parseSloppyNetwork(text);
  return network && familyOf(masked(network).address);
}

/** Error text for an address that can be parsed but breaks the strict rules; undefined if it keeps them. */
function strictAddressProblem(text: string): string | undefined {
  const address = parseAddress(text);
  if (typeof address === "string") return "must not have leading 0s";
  return isMapped(address) ? "must not be an IPv4-mapped IPv6 address" : undefined;
}

/** The same for a network as `parseNetwork` gives it. */
function strictNetworkProblem(network: Network | string): string | undefined {
  if (typeof network === "string") return "must not have leading 0s in IP or prefix length";
  if (isMapped(network.address)) return "must not have an IPv4-mapped IPv6 address";
  return masked(network).address.value === network.address.value
    ? undefined
    : "must not have bits set beyond the prefix length";
}

/** An address in the one form that new fields have (IsValidIP). */
export const addressRule: NameRule = (text) => {
  const address = parseSloppyAddress(text);
  if (address === undefined) return [noAddress];
  const problem = strictAddressProblem(text);
  if (problem !== undefined) return [problem];
  const canonical = addressText(address);
  return canonical === text ? [] : [`must be in canonical form (${quoted(canonical)})`];
};

/** A network in the one form that new fields have (IsValidCIDR). */
export const networkRule: NameRule = (text) => {
  const network = parseSloppyNetwork(text);
  if (network === undefined) return [noNetwork];
  const problem = strictNetworkProblem(parseNetwork(text));
  if (problem !== undefined) return [problem];
  const canonical = networkText(network);
  return canonical === text ? [] : [`must be in canonical form (${quoted(canonical)})`];
};

/** An address of an interface with the length of its network's prefix (IsValidInterfaceAddress). */
export const interfaceAddressRule: NameRule = (text) => {
  const network = parseSloppyNetwork(text);
  if (network === undefined) return [noInterface];
  const address = unmapped(network.address);
  const prefix = address.bits === 32 && network.prefix > 32 ? network.prefix - 96 : network.prefix;
  const canonical = networkText({ address, prefix });
  return canonical === text ? [] : [`must be in canonical form (${quoted(canonical)})`];
};

/** Options of the checks of fields that are older than the strict rules. */
export interface LegacyOptions {
  /** From 1.36 on new values are checked strictly (StrictIPCIDRValidation, KEP-4858). */
  readonly version: KubernetesVersion;
  /** Values of the old object, which are accepted even if they are invalid. */
  readonly before?: ReadonlySet<string> | undefined;
}

/** Upstream: IsValidIPForLegacyField. Returns whether the value may stand. */
export function checkLegacyAddress(
  errors: FieldErrors,
  text: string,
  { version, before }: LegacyOptions,
): boolean {
  if (before?.has(text)) return true;
  const problem =
    parseSloppyAddress(text) === undefined
      ? noAddress
      : version >= "1.36"
        ? strictAddressProblem(text)
        : undefined;
  if (problem !== undefined) errors.invalid(text, problem);
  return problem === undefined;
}

/** Upstream: IsValidCIDRForLegacyField. Returns whether the value may stand. */
export function checkLegacyNetwork(
  errors: FieldErrors,
  text: string,
  { version, before }: LegacyOptions,
): boolean {
  if (before?.has(text)) return true;
  const network = parseNetwork(text);
  const problem =
    typeof network === "string" && parseSloppyNetwork(text) === undefined
      ? noNetwork
      : version >= "1.36"
        ? strictNetworkProblem(network)
        : undefined;
  if (problem !== undefined) errors.invalid(text, problem);
  return problem === undefined;
}

/**
 * A network with its first address, of IPv4 where it lies among the mapped ones. Upstream: Go's net.IPNet.
 */
function plainNetwork(network: Network): Network {
  const first = masked(network);
  if (!isMapped(first.address)) return first;
  return { address: unmapped(first.address), prefix: Math.max(0, first.prefix - 96) };
}

/**
 * Returns whether a network is part of `outer`, and smaller; undefined where one of them cannot be read. For
 * many networks: `outer` is read once.
 */
export function strictlyWithin(outer: string): (inner: string) => boolean | undefined {
  const large = parseSloppyNetwork(outer);
  const plain = large && plainNetwork(large);
  return (inner) => {
    const small = parseSloppyNetwork(inner);
    if (small === undefined || large === undefined || plain === undefined) return undefined;
    return large.prefix < small.prefix && containsAddress(plain, unmapped(masked(small).address));
  };
}

/** Warnings about an address in an old field that is valid there (GetWarningsForIP). */
export function addressWarnings(path: string, text: string): string[] {
  const sloppy = parseSloppyAddress(text);
  if (sloppy === undefined) return [];
  const address = parseAddress(text);
  if (typeof address === "string" || isMapped(address)) {
    const plain = quoted(addressText(unmapped(sloppy)));
    return [`${path}: non-standard IP address ${quoted(text)} is invalid: use ${plain}`];
  }
  const canonical = addressText(address);
  if (address.bits === 32 || canonical === text) return [];
  return [
    `${path}: IPv6 address ${quoted(text)} should be in RFC 5952 canonical format (${quoted(canonical)})`,
  ];
}

/** Warnings about a CIDR in an old field that is valid there (GetWarningsForCIDR). */
export function networkWarnings(path: string, text: string): string[] {
  const network = parseNetwork(text);
  const sloppy = typeof network === "string" ? parseSloppyNetwork(text) : network;
  if (sloppy === undefined) return [];
  const warnings: string[] = [];
  const first = masked(sloppy);
  const shown = (): string => quoted(ipNetText(first));
  if (first.address.value !== sloppy.address.value) {
    const alone = `${addressText(unmapped(sloppy.address))}/${sloppy.address.bits}`;
    const why = `is ambiguous in this context (should be ${shown()} or ${quoted(alone)}?)`;
    warnings.push(`${path}: CIDR value ${quoted(text)} ${why}`);
  }
  if (typeof network === "string" || isMapped(network.address)) {
    warnings.push(`${path}: non-standard CIDR value ${quoted(text)} is invalid: use ${shown()}`);
  } else if (warnings.length === 0 && network.address.bits === 128 && networkText(network) !== text) {
    const canonical = quoted(networkText(network));
    warnings.push(
      `${path}: IPv6 CIDR value ${quoted(text)} should be in RFC 5952 canonical format (${canonical})`,
    );
  }
  return warnings;
}

/** Upstream: Go's net.IPNet.String: of IPv4 where the first address is a mapped one. */
function ipNetText(network: Network): string {
  return networkText(plainNetwork(network));
}
