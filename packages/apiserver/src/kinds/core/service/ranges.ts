import {
  addressText as canonical,
  isMapped,
  masked,
  parseNetwork,
  parseSloppyAddress,
  unmapped,
} from "@dray/api/ip";

/** An IP family of a service (ServiceSpec.ipFamilies). */
export type Family = "IPv4" | "IPv6";

/**
 * The addresses of a CIDR that services may have: neither the network's own nor an IPv4 broadcast address.
 */
export interface AddressRange {
  /** The CIDR in its canonical form. */
  readonly text: string;
  readonly family: Family;
  readonly first: bigint;
  readonly last: bigint;
  /**
   * Addresses at the beginning that are only given out when asked for, or when the rest is full (KEP-3070).
   */
  readonly reserved: bigint;
}

export function familyOf(text: string): Family {
  const address = parseSloppyAddress(text);
  const six = address === undefined ? text.includes(":") : unmapped(address).bits === 128;
  return six ? "IPv6" : "IPv4";
}

/** Returns an address as a number; undefined if it is invalid. */
export function addressNumber(text: string): bigint | undefined {
  const address = parseSloppyAddress(text);
  return address && unmapped(address).value;
}

/** Returns the address with this number, in canonical form. */
export function addressText(number: bigint, family: Family): string {
  return canonical({ bits: family === "IPv4" ? 32 : 128, value: number, zone: "" });
}

/** Parses a range such as `10.0.0.0/24`; undefined if it is not a CIDR. */
export function parseRange(cidr: string): AddressRange | undefined {
  const network = parseNetwork(cidr);
  if (typeof network === "string" || isMapped(network.address)) return undefined;
  const { bits, value } = masked(network).address;
  const family = bits === 32 ? "IPv4" : "IPv6";
  const size = 1n << BigInt(bits - network.prefix);
  return {
    text: `${addressText(value, family)}/${network.prefix}`,
    family,
    first: value + 1n,
    last: value + size - (family === "IPv4" ? 2n : 1n),
    reserved: size <= 16n ? 0n : within(size / 16n, 16n, 256n),
  };
}

const within = (value: bigint, least: bigint, most: bigint): bigint =>
  value < least ? least : value > most ? most : value;

/**
 * A number from `first` to `last` that is not taken: from behind the reserved ones if there is one, else from
 * these; each time beginning anywhere. Undefined if all are taken. `random` answers from 0 to below 1.
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

/**
 * The first address of a CIDR, which the service `kubernetes` has. Throws a TypeError if `cidr` is not valid.
 */
export function firstServiceAddress(cidr: string): string {
  const range = parseRange(cidr);
  if (range === undefined) throw new TypeError(`${cidr} is not a CIDR`);
  return addressText(range.first, range.family);
}
