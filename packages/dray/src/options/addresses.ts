import { isMapped, parseNetwork } from "@dray/api/ip";
import { UsageError } from "../terminal/failure.ts";

/** Parses the CIDRs of --service-cluster-ip-range: one, or two of different families. Throws a UsageError. */
export function rangesOf(text: string | undefined): readonly string[] | undefined {
  if (text === undefined) return undefined;
  const ranges = text.split(",").map((cidr) => cidr.trim());
  const refuse = (why: string): never => {
    throw new UsageError(`--service-cluster-ip-range ${text}: ${why}`);
  };
  const families = ranges.map((cidr) => {
    const network = parseNetwork(cidr);
    if (typeof network === "string" || isMapped(network.address))
      return refuse(`${JSON.stringify(cidr)} must be a CIDR, such as 10.0.0.0/24`);
    const { prefix } = network;
    const { bits } = network.address;
    // Upstream's limits: at least 8 addresses, and at most the size of its bitmap.
    if (bits - prefix < 3) return refuse("must be a range of at least 8 IP addresses");
    const minLength = bits === 32 ? 12 : 64;
    if (prefix < minLength) return refuse(`must have a prefix length of ${minLength} or more`);
    return bits;
  });
  if (ranges.length > 2) refuse("must not be more than two ranges");
  if (new Set(families).size < families.length) refuse("two ranges must be of different families");
  return ranges;
}

/**
 * Parses the ports of --service-node-port-range: `30000-32767`, `30000+2767` or one port. Throws a
 * UsageError.
 */
export function portRangeOf(text: string | undefined): { first: number; last: number } | undefined {
  if (text === undefined) return undefined;
  const refuse = (why: string): never => {
    throw new UsageError(`--service-node-port-range ${text}: ${why}`);
  };
  const [, low, sign, high] =
    /^\s*(\d+)(?:([-+])(\d+))?\s*$/.exec(text) ?? refuse("must be a range of ports, such as 30000-32767");
  const first = Number(low);
  const last = sign === undefined ? first : sign === "-" ? Number(high) : first + Number(high);
  if (first < 1 || last > 65_535) refuse("ports must be from 1 to 65535");
  if (last < first) refuse("the last port must not be below the first");
  return { first, last };
}
