import { quoted } from "@dray/api";
import {
  type Address,
  addressText,
  containsAddress,
  isGlobalUnicast,
  isLinkLocalMulticast,
  isLinkLocalUnicast,
  isLoopback,
  isMapped,
  isUnspecified,
  masked,
  type Network,
  networkText,
  parseAddress,
  parseNetwork,
} from "@dray/api/ip";
import { boolType, type CelType, intType, stringType } from "../values/types.ts";
import { CelError, LibraryValue, noSuchOverload, type Value } from "../values/value.ts";
import * as charges from "./costs/charges.ts";
import { type Cost, traversal } from "./costs/cost.ts";
import * as estimates from "./costs/estimates.ts";
import { plus } from "./costs/size-estimate.ts";
import { declare, type FunctionDeclaration, method, overload, priced } from "./declarations.ts";

const opaque = (name: string): CelType => ({ kind: "opaque", name, params: [] });
export const ipType = opaque("net.IP");
export const cidrType = opaque("net.CIDR");

class IpValue extends LibraryValue {
  override readonly typeName = "net.IP";
  readonly address: Address;
  constructor(address: Address) {
    super();
    this.address = address;
  }
  override equals({ address }: IpValue): boolean {
    return address.bits === this.address.bits && address.value === this.address.value;
  }
  override get identity(): string {
    return addressText(this.address);
  }
  override get size(): number {
    return this.address.bits / 8;
  }
}

class CidrValue extends LibraryValue {
  override readonly typeName = "net.CIDR";
  readonly network: Network;
  constructor(network: Network) {
    super();
    this.network = network;
  }
  override equals({ network: { address, prefix } }: CidrValue): boolean {
    const own = this.network;
    return address.bits === own.address.bits && address.value === own.address.value && prefix === own.prefix;
  }
  override get identity(): string {
    return networkText(this.network);
  }
  override get size(): number {
    return Math.ceil(this.network.prefix / 8);
  }
}

function parseIp(text: string): IpValue | CelError {
  const address = parseAddress(text);
  const name = quoted(text);
  if (typeof address === "string") {
    return new CelError(`IP Address ${name} parse error during conversion from string: ${address}`);
  }
  if (address.zone !== "") return new CelError(`IP address ${name} with zone value is not allowed`);
  return isMapped(address)
    ? new CelError(`IPv4-mapped IPv6 address ${name} is not allowed`)
    : new IpValue(address);
}

const unreadable = "network address parse error during conversion from string: ";

function parseCidr(text: string): CidrValue | CelError {
  const network = parseNetwork(text);
  // Upstream adds the prefix twice: when it parses and when it converts.
  if (typeof network === "string") return new CelError(`${unreadable}${unreadable}${network}`);
  return isMapped(network.address)
    ? new CelError(`${unreadable}IPv4-mapped IPv6 address ${quoted(text)} is not allowed`)
    : new CidrValue(network);
}

const address = (value: Value): Address => (value as IpValue).address;
const network = (value: Value): Network => (value as CidrValue).network;

/** For an invalid address upstream returns "no such overload" (observed). */
function containsIp(cidr: Value, other: Value): Value {
  const ip = typeof other === "string" ? parseIp(other) : other;
  return ip instanceof IpValue ? containsAddress(network(cidr), ip.address) : noSuchOverload;
}

function containsCidr(cidr: Value, other: Value): Value {
  const inner = typeof other === "string" ? parseCidr(other) : other;
  if (!(inner instanceof CidrValue)) return inner;
  const outer = network(cidr);
  return outer.prefix <= inner.network.prefix && containsAddress(outer, inner.network.address);
}

const test = (name: string, id: string, holds: (ip: Address) => boolean): FunctionDeclaration =>
  declare(name, [method(id, [ipType], boolType, (a) => holds(address(a)))]);

const canonicalCost: Cost = { estimate: estimates.traversesFirst(0.2), charge: charges.firstTwice };

/** The cost of comparing addresses, which have 4 to 16 bytes; `parses`: the second argument is a string. */
const containsCost = (estimate: bigint, charge: (size: number) => number, parses: boolean): Cost => ({
  estimate: (operands) => ({
    cost: parses ? plus(estimate, estimates.stringCost(estimates.maxAt(operands, 1))) : estimate,
  }),
  charge: charges.bySizes((sizes) => {
    const parsing = parses ? charges.stringCost(charges.sizeAt(sizes, 1)) : 0;
    return charge(charges.sizeAt(sizes, 0)) + parsing;
  }),
});
const containsIpCost = (parses: boolean): Cost =>
  containsCost(4n, (size) => charges.stringCost(2 * size), parses);
const containsCidrCost = (parses: boolean): Cost =>
  containsCost(7n, (size) => charges.stringCost(2 * size) + charges.stringCost(size) + 1, parses);

/** Addresses (Kubernetes CEL library of 1.30). */
const ipLibrary: readonly FunctionDeclaration[] = [
  {
    ...declare("ip", [
      priced(
        traversal,
        overload("string_to_ip", [stringType], ipType, (a) => parseIp(a as string)),
      ),
    ]),
    parsesConstants: true,
  },
  priced(traversal, {
    ...declare("isIP", [
      overload("is_ip", [stringType], boolType, (a) => !(parseIp(a as string) instanceof CelError)),
    ]),
    parsesConstants: true,
  }),
  priced(
    canonicalCost,
    declare("ip.isCanonical", [
      overload("ip_is_canonical", [stringType], boolType, (a) => {
        const ip = parseIp(a as string);
        return ip instanceof CelError ? ip : addressText(ip.address) === a;
      }),
    ]),
  ),
  declare("family", [method("ip_family", [ipType], intType, (a) => (address(a).bits === 32 ? 4n : 6n))]),
  test("isUnspecified", "ip_is_unspecified", isUnspecified),
  test("isLoopback", "ip_is_loopback", isLoopback),
  test("isLinkLocalMulticast", "ip_is_link_local_multicast", isLinkLocalMulticast),
  test("isLinkLocalUnicast", "ip_is_link_local_unicast", isLinkLocalUnicast),
  test("isGlobalUnicast", "ip_is_global_unicast", isGlobalUnicast),
  declare("string", [overload("ip_to_string", [ipType], stringType, (a) => addressText(address(a)))]),
];

/** Networks (Kubernetes CEL library of 1.30). */
const cidrLibrary: readonly FunctionDeclaration[] = [
  priced(traversal, {
    ...declare("cidr", [overload("string_to_cidr", [stringType], cidrType, (a) => parseCidr(a as string))]),
    parsesConstants: true,
  }),
  priced(traversal, {
    ...declare("isCIDR", [
      overload("is_cidr", [stringType], boolType, (a) => !(parseCidr(a as string) instanceof CelError)),
    ]),
    parsesConstants: true,
  }),
  priced(
    containsIpCost(false),
    declare("containsIP", [
      priced(
        containsIpCost(true),
        method("cidr_contains_ip_string", [cidrType, stringType], boolType, containsIp),
      ),
      method("cidr_contains_ip_ip", [cidrType, ipType], boolType, containsIp),
    ]),
  ),
  priced(
    containsCidrCost(false),
    declare("containsCIDR", [
      priced(
        containsCidrCost(true),
        method("cidr_contains_cidr_string", [cidrType, stringType], boolType, containsCidr),
      ),
      method("cidr_contains_cidr", [cidrType, cidrType], boolType, containsCidr),
    ]),
  ),
  declare("ip", [method("cidr_ip", [cidrType], ipType, (a) => new IpValue(network(a).address))]),
  declare("prefixLength", [
    method("cidr_prefix_length", [cidrType], intType, (a) => BigInt(network(a).prefix)),
  ]),
  declare("masked", [method("cidr_masked", [cidrType], cidrType, (a) => new CidrValue(masked(network(a))))]),
  declare("string", [overload("cidr_to_string", [cidrType], stringType, (a) => networkText(network(a)))]),
];

export const networkLibrary: readonly FunctionDeclaration[] = [...ipLibrary, ...cidrLibrary];
