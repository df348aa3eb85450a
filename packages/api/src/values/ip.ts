/**
 * IP addresses and networks as Go reads and writes them. `parseAddress` and `parseNetwork` are those of
 * net/netip, and answer in its words; the sloppy forms are those of k8s.io/utils/net, which old fields of the
 * API are read with.
 */
import { quoted } from "../text/quoted.ts";

/** An address of IPv4 or IPv6. */
export interface Address {
  /** Number of bits: 32 of IPv4, 128 of IPv6. */
  readonly bits: 32 | 128;
  readonly value: bigint;
  /** The text after `%`: the interface by which an IPv6 address is reached; else empty. */
  readonly zone: string;
}

/** An address and how many of its leading bits name the network. */
export interface Network {
  readonly address: Address;
  readonly prefix: number;
}

/** Reads an address as Go's netip.ParseAddr does, or returns why it is invalid, in its words. */
export function parseAddress(text: string): Address | string {
  const fail = (message: string, at = ""): string =>
    `ParseAddr(${quoted(text)}): ${message}${at === "" ? "" : ` (at ${quoted(at)})`}`;
  switch (/[.:%]/.exec(text)?.[0]) {
    case ".": {
      const value = parseDotted(text, fail);
      return typeof value === "string" ? value : { bits: 32, value, zone: "" };
    }
    case ":":
      return parseGroups(text, fail);
    case "%":
      return fail("missing IPv6 address");
    default:
      return fail("unable to parse IP");
  }
}

type Fail = (message: string, at?: string) => string;

/** Four numbers with dots between them. */
function parseDotted(text: string, fail: Fail, sloppy = false): bigint | string {
  let [value, fields, field, digits] = [0, 0, 0, 0];
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code >= 48 && code <= 57) {
      if (digits > 0 && field === 0 && !sloppy) return fail("IPv4 field has octet with leading zero");
      field = field * 10 + code - 48;
      digits++;
      if (field > 255) return fail("IPv4 field has value >255");
    } else if (code === 46) {
      if (digits === 0 || i === text.length - 1) {
        return fail("IPv4 field must have at least one digit", text.slice(i));
      }
      if (fields === 3) return fail("IPv4 address too long");
      value = value * 256 + field;
      [field, digits] = [0, 0];
      fields++;
    } else return fail("unexpected character", text.slice(i));
  }
  if (fields < 3) return fail("IPv4 address too short");
  return BigInt(value * 256 + field);
}

/**
 * Groups of hexadecimal digits with colons between them, `::` for the zeroes left out, at the end maybe IPv4.
 */
function parseGroups(text: string, fail: Fail, sloppy = false): Address | string {
  const percent = sloppy ? -1 : text.indexOf("%");
  const zone = percent < 0 ? "" : text.slice(percent + 1);
  if (percent >= 0 && zone === "") return fail("zone must be a non-empty string");
  let rest = percent < 0 ? text : text.slice(0, percent);
  const groups: bigint[] = [];
  let gap = -1;
  if (rest.startsWith("::")) {
    gap = 0;
    rest = rest.slice(2);
    if (rest === "") return { bits: 128, value: 0n, zone };
  }
  while (groups.length < 8) {
    const digits = rest.slice(0, rest.search(/[^0-9a-fA-F]|$/));
    if (digits.length > 4 && !(sloppy && Number.parseInt(digits, 16) <= 0xffff))
      return fail("each group must have 4 or less digits", rest);
    if (digits === "") return fail("each colon-separated field must have at least one digit", rest);
    if (rest[digits.length] === ".") {
      if (gap < 0 && groups.length !== 6) {
        return fail("embedded IPv4 address must replace the final 2 fields of the address", rest);
      }
      if (groups.length > 6) {
        return fail("too many hex fields to fit an embedded IPv4 at the end of the address", rest);
      }
      const last = parseDotted(rest, fail, sloppy);
      if (typeof last === "string") return last;
      groups.push(last >> 16n, last & 0xffffn);
      rest = "";
      break;
    }
    groups.push(BigInt(`0x${digits}`));
    rest = rest.slice(digits.length);
    if (rest === "") break;
    if (!rest.startsWith(":")) return fail("unexpected character, want colon", rest);
    if (rest === ":") return fail("colon must be followed by more characters", rest);
    rest = rest.slice(1);
    if (rest.startsWith(":")) {
      if (gap >= 0) return fail("multiple :: in address", rest);
      gap = groups.length;
      rest = rest.slice(1);
      if (rest === "") break;
    }
  }
  if (rest !== "") return fail("trailing garbage after address", rest);
  if (groups.length < 8) {
    if (gap < 0) return fail("address string too short");
    groups.splice(gap, 0, ...new Array<bigint>(8 - groups.length).fill(0n));
  } else if (gap >= 0) return fail("the :: must expand to at least one field of zeros");
  return { bits: 128, value: groups.reduce((sum, group) => (sum << 16n) | group, 0n), zone };
}

/** Whether it is an address of IPv4 in the clothes of IPv6: `::ffff:10.0.0.1`. */
export const isMapped = ({ bits, value }: Address): boolean => bits === 128 && value >> 32n === 0xffffn;

/**
 * The address that is meant: of IPv4 where it comes in the clothes of IPv6. Go's net.IP makes no difference.
 */
export function unmapped(address: Address): Address {
  return isMapped(address) ? { bits: 32, value: address.value & 0xffffffffn, zone: "" } : address;
}

/** The one way to write an address (RFC 5952). Upstream: netip.Addr.String. */
export function addressText(address: Address): string {
  const { bits, value, zone } = address;
  const end = zone === "" ? "" : `%${zone}`;
  if (isMapped(address)) return `::ffff:${addressText(unmapped(address))}${end}`;
  const fields = fieldsOf(address, bits === 32 ? 8 : 16);
  if (bits === 32) return fields.join(".");
  let start = 0;
  let length = 0;
  for (let i = 0; i < 8; i++) {
    let stop = i;
    while (stop < 8 && fields[stop] === 0) stop++;
    if (stop - i > length) [start, length] = [i, stop - i];
  }
  const text = (part: readonly number[]): string => part.map((field) => field.toString(16)).join(":");
  if (value === 0n || length >= 2)
    return `${text(fields.slice(0, start))}::${text(fields.slice(start + length))}${end}`;
  return `${text(fields)}${end}`;
}

/** Its bits in parts of that many, most significant first. */
function fieldsOf({ bits, value }: Address, width: 8 | 16): number[] {
  const mask = (1n << BigInt(width)) - 1n;
  return Array.from({ length: bits / width }, (_, i) =>
    Number((value >> BigInt(bits - width * (i + 1))) & mask),
  );
}

/** Four or sixteen bytes, as certificates hold them: those of IPv4 for a mapped address, as Go writes it. */
export function addressBytes(address: Address): Uint8Array {
  return Uint8Array.from(fieldsOf(unmapped(address), 8));
}

/** `address/bits` */
export const networkText = ({ address, prefix }: Network): string => `${addressText(address)}/${prefix}`;

/** Digits that a number surely holds. */
const maxSafeDigits = 15;

/** Reads `address/bits` as Go's netip.ParsePrefix does, or returns why it is invalid, in its words. */
export function parseNetwork(text: string): Network | string {
  const fail = (message: string): string => `netip.ParsePrefix(${quoted(text)}): ${message}`;
  const slash = text.lastIndexOf("/");
  if (slash < 0) return fail("no '/'");
  const address = parseAddress(text.slice(0, slash));
  if (typeof address === "string") return fail(address);
  if (address.zone !== "") return fail("IPv6 zones cannot be present in a prefix");
  const bits = text.slice(slash + 1);
  if (!/^(0|[1-9][0-9]*)$/.test(bits) || (bits.length > maxSafeDigits && BigInt(bits) >= 2n ** 63n)) {
    return fail(`bad bits after slash: ${quoted(bits)}`);
  }
  const prefix = Number(bits);
  return prefix > address.bits ? fail("prefix length out of range") : { address, prefix };
}

/** Reports whether a colon comes first in a text, not a dot. */
function isGroups(text: string): boolean {
  const [colon, dot] = [text.indexOf(":"), text.indexOf(".")];
  return colon >= 0 && (dot < 0 || colon < dot);
}

/**
 * Reads an address as netutils.ParseIPSloppy does: leading zeros of a number are skipped, and zones are
 * invalid. Undefined for anything else.
 */
export function parseSloppyAddress(text: string): Address | undefined {
  const silent: Fail = () => "";
  if (isGroups(text)) {
    const address = parseGroups(text, silent, true);
    return typeof address === "string" ? undefined : address;
  }
  const value = parseDotted(text, silent, true);
  return typeof value === "string" ? undefined : { bits: 32, value, zone: "" };
}

/** Reads `address/bits` as netutils.ParseCIDRSloppy does; undefined for anything else. */
export function parseSloppyNetwork(text: string): Network | undefined {
  const slash = text.indexOf("/");
  const address = slash < 0 ? undefined : parseSloppyAddress(text.slice(0, slash));
  const digits = text.slice(slash + 1);
  if (address === undefined || !/^[0-9]+$/.test(digits)) return undefined;
  const prefix = Number(digits);
  return prefix <= address.bits ? { address, prefix } : undefined;
}

/** Whether the address is in the network; of another family it never is. */
export function containsAddress({ address, prefix }: Network, other: Address): boolean {
  return address.bits === other.bits && (address.value ^ other.value) >> BigInt(address.bits - prefix) === 0n;
}

/** The network's first address: all that follows the prefix is zero. */
export function masked(network: Network): Network {
  const { address, prefix } = network;
  if (prefix === address.bits) return network;
  const rest = BigInt(address.bits - prefix);
  return { address: { ...address, value: (address.value >> rest) << rest }, prefix };
}

/** Whether one network is part of another, and smaller. */
export function isStrictlyWithin(inner: Network, outer: Network): boolean {
  return inner.prefix > outer.prefix && containsAddress(outer, inner.address);
}

/** Bits of the address from one position on. */
const leading = ({ bits, value }: Address, count: number): bigint => value >> BigInt(bits - count);

/** Classes of addresses as in Go's netip.Addr; see there. A mapped address must be unmapped before. */
export const isUnspecified = ({ value }: Address): boolean => value === 0n;
export const isLoopback = (ip: Address): boolean =>
  ip.bits === 32 ? leading(ip, 8) === 127n : ip.value === 1n;
export const isLinkLocalUnicast = (ip: Address): boolean =>
  ip.bits === 32 ? leading(ip, 16) === 0xa9fen : leading(ip, 10) === 0xfe80n >> 6n;
export const isLinkLocalMulticast = (ip: Address): boolean =>
  ip.bits === 32 ? leading(ip, 24) === 0xe00000n : (leading(ip, 16) & 0xff0fn) === 0xff02n;
export const isMulticast = (ip: Address): boolean =>
  ip.bits === 32 ? leading(ip, 4) === 0xen : leading(ip, 8) === 0xffn;
const isBroadcast = (ip: Address): boolean => ip.bits === 32 && ip.value === 0xffffffffn;
/** Everything that may stand for one host outside its own link; private ranges too. */
export const isGlobalUnicast = (ip: Address): boolean =>
  ![isUnspecified, isBroadcast, isLoopback, isMulticast, isLinkLocalUnicast].some((test) => test(ip));
