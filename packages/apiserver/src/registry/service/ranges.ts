import { isIP } from "node:net";

/** A family as services name it (ServiceSpec.ipFamilies). */
export type Family = "IPv4" | "IPv6";

/** The addresses of a CIDR that services may have: neither the network's own nor an IPv4 broadcast address. */
export interface AddressRange {
  /** The CIDR in its canonical form. */
  readonly text: string;
  readonly family: Family;
  readonly first: bigint;
  readonly last: bigint;
  /** Addresses at the beginning that are only given out when asked for, or when the rest is full (KEP-3070). */
  readonly reserved: bigint;
}

export const familyOf = (address: string): Family => (address.includes(":") ? "IPv6" : "IPv4");
const width = (family: Family): number => (family === "IPv4" ? 32 : 128);

/** The number of an address; undefined for what is none. */
export function addressNumber(text: string): bigint | undefined {
  if (isIP(text) === 0 || text.includes("%")) return undefined;
  if (!text.includes(":")) return text.split(".").reduce((sum, part) => sum * 256n + BigInt(part), 0n);
  const [left = "", right] = groups(text).split("::");
  const [before, after] = [left, right ?? ""].map((half) => half.split(":").filter((group) => group !== ""));
  const missing = 8 - before!.length - after!.length;
  const all = [...before!, ...Array<string>(right === undefined ? 0 : missing).fill("0"), ...after!];
  return all.reduce((sum, group) => sum * 65_536n + BigInt(`0x${group}`), 0n);
}

/** The canonical text of an IPv6 address, without dots (RFC 5952). */
const groups = (text: string): string => new URL(`http://[${text}]`).hostname.slice(1, -1);

/** The address with this number, in its canonical form. */
export function addressText(number: bigint, family: Family): string {
  const bits = family === "IPv4" ? 8n : 16n;
  const parts: string[] = [];
  for (let at = BigInt(width(family)) - bits; at >= 0n; at -= bits) {
    parts.push(((number >> at) & ((1n << bits) - 1n)).toString(family === "IPv4" ? 10 : 16));
  }
  return family === "IPv4" ? parts.join(".") : groups(parts.join(":"));
}

/** The range of `10.0.0.0/24`; undefined for what is no CIDR. */
export function parseRange(cidr: string): AddressRange | undefined {
  const [address = "", prefix = "", ...rest] = cidr.split("/");
  const number = addressNumber(address);
  if (number === undefined || rest.length > 0 || !/^(0|[1-9]\d{0,2})$/.test(prefix)) return undefined;
  const family = familyOf(address);
  const bits = width(family) - Number(prefix);
  if (bits < 0) return undefined;
  const size = 1n << BigInt(bits);
  const network = number - (number % size);
  return {
    text: `${addressText(network, family)}/${prefix}`,
    family,
    first: network + 1n,
    last: network + size - (family === "IPv4" ? 2n : 1n),
    reserved: size <= 16n ? 0n : within(size / 16n, 16n, 256n),
  };
}

const within = (value: bigint, least: bigint, most: bigint): bigint =>
  value < least ? least : value > most ? most : value;

/**
 * A number from `first` to `last` that is not taken: from behind the reserved ones if there is one, else from these;
 * each time beginning anywhere. Undefined if all are taken. `random` answers from 0 to below 1.
 */
export function chooseFree(
  range: { readonly first: bigint; readonly last: bigint; readonly reserved: bigint },
  taken: (number: bigint) => boolean,
  random: () => number,
): bigint | undefined {
  const { first, last, reserved } = range;
  for (const [from, to] of [
    [first + reserved, last],
    [first, first + reserved - 1n],
  ] as const) {
    const count = to - from + 1n;
    if (count <= 0n) continue;
    const start = (BigInt(Math.floor(random() * 2 ** 52)) * count) >> 52n;
    for (let step = 0n; step < count; step++) {
      const number = from + ((start + step) % count);
      if (!taken(number)) return number;
    }
  }
  return undefined;
}

/** The first address of a CIDR, which the service `kubernetes` has. Throws a TypeError if `cidr` is not valid. */
export function firstServiceAddress(cidr: string): string {
  const range = parseRange(cidr);
  if (range === undefined) throw new TypeError(`${cidr} is not a CIDR`);
  return addressText(range.first, range.family);
}
