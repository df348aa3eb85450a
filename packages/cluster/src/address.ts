import { isIP } from "node:net";
import { hostname, networkInterfaces } from "node:os";

/** How clients reach a server that is bound to an address. */
export interface ServerAddresses {
  /** For clients on this machine, whatever network it is in. */
  readonly local: string;
  /** For others, and for the service `kubernetes`. */
  readonly advertised: string;
  /** What the serving certificate is valid for. */
  readonly ipAddresses: readonly string[];
  readonly dnsNames: readonly string[];
}

export interface AddressOptions {
  /** An IP address: one of this machine, or `0.0.0.0` or `::` for all of them. */
  readonly bind: string;
  /** Under which others reach the server, where that is not an address of this machine. */
  readonly advertise?: string | undefined;
  /** Further addresses that the certificate is valid for; the one of the service `kubernetes` if absent. */
  readonly also?: readonly string[];
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

/** The form without zeros and, of an IPv4 address in IPv6's form (`::ffff:10.0.0.1`), that of IPv4, as Go reads it. */
export function plainAddress(address: string): string {
  const family = address.includes("%") ? 0 : isIP(address);
  if (family === 0) throw new Error(`${JSON.stringify(address)} is not an IP address`);
  if (family === 4) return address;
  const text = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const [, high, low] = /^::ffff:([0-9a-f]+):([0-9a-f]+)$/.exec(text) ?? [];
  if (high === undefined || low === undefined) return text;
  const number = Number.parseInt(high, 16) * 65_536 + Number.parseInt(low, 16);
  return [24, 16, 8, 0].map((shift) => (number >>> shift) & 255).join(".");
}

/** An address as the host of a URL. */
export function urlHost(address: string): string {
  return address.includes(":") ? `[${address}]` : address;
}

export function isLoopback(address: string): boolean {
  return address === "::1" || address.startsWith("127.");
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
