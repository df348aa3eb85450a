import { quoted } from "@dray/api";

/** An address of IPv4 or IPv6. */
export interface Address {
  /** How many bits it has: 32 of IPv4, 128 of IPv6. */
  readonly bits: 32 | 128;
  readonly value: bigint;
  /** What follows `%`: the interface that an address of IPv6 is to be reached by; else empty. */
  readonly zone: string;
}

/** An address and how many of its leading bits name the network. */
export interface Network {
  readonly address: Address;
  readonly prefix: number;
}

/** Reads an address as Go's netip.ParseAddr does, or answers why it is none, in its words. */
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
function parseDotted(text: string, fail: Fail): bigint | string {
  const fields: number[] = [];
  let digits = "";
  for (let i = 0; i < text.length; i++) {
    const char = text[i]!;
    if (/[0-9]/.test(char)) {
      if (digits === "0") return fail("IPv4 field has octet with leading zero");
      digits += char;
      if (Number(digits) > 255) return fail("IPv4 field has value >255");
    } else if (char === ".") {
      if (digits === "" || i === text.length - 1) {
        return fail("IPv4 field must have at least one digit", text.slice(i));
      }
      if (fields.length === 3) return fail("IPv4 address too long");
      fields.push(Number(digits));
      digits = "";
    } else return fail("unexpected character", text.slice(i));
  }
  if (fields.length < 3) return fail("IPv4 address too short");
  return [...fields, Number(digits)].reduce((sum, field) => (sum << 8n) | BigInt(field), 0n);
}

/** Groups of hexadecimal digits with colons between them, `::` for the zeroes left out, at the end maybe IPv4. */
function parseGroups(text: string, fail: Fail): Address | string {
  const percent = text.indexOf("%");
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
    const digits = /^[0-9a-fA-F]*/.exec(rest)![0];
    if (digits.length > 4) return fail("each group must have 4 or less digits", rest);
    if (digits === "") return fail("each colon-separated field must have at least one digit", rest);
    if (rest[digits.length] === ".") {
      if (gap < 0 && groups.length !== 6) {
        return fail("embedded IPv4 address must replace the final 2 fields of the address", rest);
      }
      if (groups.length > 6) {
        return fail("too many hex fields to fit an embedded IPv4 at the end of the address", rest);
      }
      const last = parseDotted(rest, fail);
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

/** The one way to write an address (RFC 5952). */
export function addressText({ bits, value }: Address): string {
  const width = bits === 32 ? 8n : 16n;
  const fields = Array.from({ length: bits === 32 ? 4 : 8 }, (_, i, last = BigInt(bits === 32 ? 3 : 7)) =>
    Number((value >> (width * (last - BigInt(i)))) & ((1n << width) - 1n)),
  );
  if (bits === 32) return fields.join(".");
  let start = 0;
  let length = 0;
  for (let i = 0; i < 8; i++) {
    let end = i;
    while (end < 8 && fields[end] === 0) end++;
    if (end - i > length) [start, length] = [i, end - i];
  }
  const text = (part: readonly number[]): string => part.map((field) => field.toString(16)).join(":");
  if (length < 2) return text(fields);
  return `${text(fields.slice(0, start))}::${text(fields.slice(start + length))}`;
}

/** `address/bits` */
export const networkText = ({ address, prefix }: Network): string => `${addressText(address)}/${prefix}`;

/** Reads `address/bits` as Go's netip.ParsePrefix does, or answers why it is none, in its words. */
export function parseNetwork(text: string): Network | string {
  const fail = (message: string): string => `netip.ParsePrefix(${quoted(text)}): ${message}`;
  const slash = text.lastIndexOf("/");
  if (slash < 0) return fail("no '/'");
  const address = parseAddress(text.slice(0, slash));
  if (typeof address === "string") return fail(address);
  if (address.zone !== "") return fail("IPv6 zones cannot be present in a prefix");
  const bits = text.slice(slash + 1);
  if (!/^(0|[1-9][0-9]*)$/.test(bits) || BigInt(bits) >= 2n ** 63n) {
    return fail(`bad bits after slash: ${quoted(bits)}`);
  }
  const prefix = Number(bits);
  return prefix > address.bits ? fail("prefix length out of range") : { address, prefix };
}

/** Whether the address is in the network; of another family it never is. */
export function containsAddress({ address, prefix }: Network, other: Address): boolean {
  return address.bits === other.bits && (address.value ^ other.value) >> BigInt(address.bits - prefix) === 0n;
}

/** The network's first address: all that follows the prefix is zero. */
export function masked({ address, prefix }: Network): Network {
  const rest = BigInt(address.bits - prefix);
  return { address: { ...address, value: (address.value >> rest) << rest }, prefix };
}
