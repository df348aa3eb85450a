import { isIP } from "node:net";
import { hostname, networkInterfaces } from "node:os";
import { quoted } from "@dray/api";
import { addressText, isLoopback as isLoopbackAddress, parseAddress, unmapped } from "@dray/api/ip";

/** How clients reach a server that is bound to an address. */
export interface ServerAddresses {
  /** For clients on this machine, whatever network it is in. */
  readonly local: string;
  /** For others, and for the service `kubernetes`. */
  readonly advertised: string;
  /** Names and addresses of the serving certificate. */
  readonly ipAddresses: readonly string[];
  readonly dnsNames: readonly string[];
}

export interface AddressOptions {
  /** An IP address: one of this machine, or `0.0.0.0` or `::` for all of them. */
  readonly bind: string;
  /** Under which others reach the server, where that is not an address of this machine. */
  readonly advertise?: string | undefined;
  /** Further addresses that the certificate is valid for; the one of the service `kubernetes` if absent. */
  readonly also?: readonly string[] | undefined;
  /** Addresses of this machine. Loopback and link-local ones are left out. */
  readonly machine?: () => readonly string[];
  readonly hostname?: () => string;
}

const serviceNames = [
  "kubernetes",
  "kubernetes.default",
  "kubernetes.default.svc",
  "kubernetes.default.svc.cluster.local",
];
/** The first address of kube-apiserver's default range of services. */
const serviceAddress = "10.0.0.1";

/** Finds out how a server is reached. Throws if an address is not valid. */
export function serverAddresses(options: AddressOptions): ServerAddresses {
  const { machine = machineAddresses, hostname: host = hostname, also = [serviceAddress] } = options;
  const bind = plainAddress(options.bind);
  const advertise = options.advertise === undefined ? undefined : plainAddress(options.advertise);
  const everywhere = bind === "0.0.0.0" || bind === "::";
  const addresses = everywhere ? machine() : [];
  const outside = addresses.find((address) => isIP(address) === 4) ?? addresses[0];
  const local = everywhere ? "127.0.0.1" : bind;
  const names = everywhere || !isLoopback(bind) ? [host(), host().split(".")[0]!] : [];
  return {
    local,
    advertised: advertise ?? outside ?? local,
    ipAddresses: unique([
      ...["127.0.0.1", "::1", local],
      ...also,
      ...addresses,
      ...(advertise === undefined ? [] : [advertise]),
    ]),
    dnsNames: unique([
      "localhost",
      ...serviceNames,
      // A certificate can hold no others.
      ...names
        .map((name) => name.toLowerCase())
        .filter((name) => /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(name)),
    ]),
  };
}

/** The canonical form, that of IPv4 for `::ffff:10.0.0.1`. Throws if the address is not valid. */
export function plainAddress(text: string): string {
  const address = parseAddress(text);
  if (typeof address === "string" || address.zone !== "")
    throw new Error(`${quoted(text)} is not an IP address`);
  return addressText(unmapped(address));
}

/** An address as the host of a URL. */
export function urlHost(address: string): string {
  return address.includes(":") ? `[${address}]` : address;
}

/** Reports whether only this machine reaches an address. */
export function isLoopback(text: string): boolean {
  const address = parseAddress(text);
  return typeof address !== "string" && isLoopbackAddress(unmapped(address));
}

function machineAddresses(): string[] {
  return Object.values(networkInterfaces())
    .flatMap((list) => list ?? [])
    .filter(({ internal, address }) => !internal && !/^fe[89ab]/.test(address))
    .map(({ address }) => address);
}

function unique(texts: readonly string[]): string[] {
  return [...new Set(texts)];
}
