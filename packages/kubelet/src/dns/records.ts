import { isIPv4, isIPv6 } from "node:net";
import type { Service } from "@dray/api/core/v1";
import type { Endpoint, EndpointSlice } from "@dray/api/discovery/v1";

/** Sources of the cluster's DNS records. */
export interface DnsZone {
  /** `cluster.local` */
  readonly domain: string;
  /** Address of the zone's own name server. */
  readonly server: string;
  service(namespace: string, name: string): Service | undefined;
  /** Slices of a Service. */
  slices(namespace: string, name: string): readonly EndpointSlice[];
  hasNamespace(namespace: string): boolean;
  services(): readonly Service[];
  allSlices(): readonly EndpointSlice[];
}

/** The records of one name. */
export interface RecordSet {
  /** IPv4 and IPv6 addresses. */
  readonly addresses?: readonly string[];
  readonly services?: readonly ServiceRecord[];
  /** The name that this one is an alias of. */
  readonly alias?: string;
  readonly pointers?: readonly string[];
  readonly text?: string;
  /** This is the apex of the zone: it has SOA and NS records. */
  readonly apex?: true;
}

/** Fields of an SRV record. */
export interface ServiceRecord {
  readonly target: string;
  readonly port: number;
  readonly addresses: readonly string[];
}

/** `foreign`: the name belongs to other servers. Undefined records: the name does not exist. */
export type Lookup =
  | { readonly kind: "foreign" }
  | { readonly kind: "own"; readonly records: RecordSet | undefined };

const foreign: Lookup = { kind: "foreign" };
const missing: Lookup = { kind: "own", records: undefined };
const found = (records: RecordSet): Lookup => ({ kind: "own", records });

/** Version of the specification that these records follow. */
const specificationVersion = "1.1.0";

/**
 * Looks up a name, without a dot at its end.
 *
 * Upstream: github.com/kubernetes/dns, docs/specification.md, and CoreDNS where that is silent.
 */
export function lookUp(zone: DnsZone, name: string): Lookup {
  const lower = name.toLowerCase();
  const domain = zone.domain.toLowerCase();
  if (lower === domain) return found({ apex: true });
  if (!lower.endsWith(`.${domain}`)) return lookUpPointer(zone, lower);
  const labels = lower.slice(0, -domain.length - 1).split(".");
  const [kind, ...rest] = labels.toReversed();
  if (kind === "svc") return lookUpService(zone, rest);
  if (kind === "pod") return lookUpPod(rest);
  if (lower === `dns-version.${domain}`) return found({ text: specificationVersion });
  if (lower === `ns.dns.${domain}`) return found({ addresses: [zone.server] });
  return lower === `dns.${domain}` ? found({}) : missing;
}

/** `labels` from right to left: namespace, Service, and the labels before them. */
function lookUpService(zone: DnsZone, labels: readonly string[]): Lookup {
  const [namespace, name, ...before] = labels;
  if (namespace === undefined) return found({});
  if (name === undefined) return zone.hasNamespace(namespace) ? found({}) : missing;
  const service = zone.service(namespace, name);
  if (service?.spec === undefined) return missing;
  const { type, externalName = "" } = service.spec;
  if (type === "ExternalName")
    return before.length === 0 && externalName !== ""
      ? found({ alias: externalName.replace(/\.$/, "") })
      : missing;
  const own = `${name}.${namespace}.svc.${zone.domain}`;
  const addresses = clusterIPs(service);
  if (addresses.length === 0)
    return lookUpHeadless(headlessTargets(zone.slices(namespace, name), own), before);
  const all = (service.spec.ports ?? []).map(({ name = "", protocol = "TCP", port }) => ({
    name,
    protocol,
    record: { target: own, port, addresses },
  }));
  if (before.length === 0) return found({ addresses, services: all.map(({ record }) => record) });
  return lookUpPort(all, before);
}

interface NamedPort {
  readonly name: string;
  readonly protocol: string;
  readonly record: ServiceRecord;
}

/** `_PORT._PROTOCOL` before the Service's name, from right to left. */
function lookUpPort(ports: readonly NamedPort[], [protocol, port, ...more]: readonly string[]): Lookup {
  if (more.length > 0) return missing;
  const matching = ports.filter((one) => `_${one.protocol.toLowerCase()}` === protocol && one.name !== "");
  if (port === undefined) return matching.length > 0 ? found({}) : missing;
  const services = matching.filter(({ name }) => `_${name}` === port).map(({ record }) => record);
  return services.length > 0 ? found({ services: unique(services) }) : missing;
}

interface HeadlessTarget {
  readonly hostname: string;
  /** The endpoint has a hostname of its own. */
  readonly isNamed: boolean;
  readonly address: string;
  readonly ports: readonly NamedPort[];
}

function lookUpHeadless(targets: readonly HeadlessTarget[], before: readonly string[]): Lookup {
  const [hostname] = before;
  if (targets.length === 0) return missing;
  const ports = targets.flatMap((target) => target.ports);
  if (hostname === undefined)
    return found({
      addresses: [...new Set(targets.map(({ address }) => address))],
      services: unique(ports.map(({ record }) => record)),
    });
  if (hostname.startsWith("_")) return lookUpPort(ports, before);
  const own = targets.filter((target) => target.hostname === hostname);
  if (own.length === 0 || before.length > 1) return missing;
  return found({ addresses: [...new Set(own.map(({ address }) => address))] });
}

/** Ready endpoints of a headless Service; one without a hostname is named by its address. */
export function headlessTargets(slices: readonly EndpointSlice[], service: string): HeadlessTarget[] {
  return slices.flatMap(({ addressType, ...slice }) => {
    // kube-apiserver writes null for empty lists.
    const [endpoints, ports] = [slice.endpoints ?? [], slice.ports ?? []];
    return endpoints
      .filter((endpoint) => addressType !== "FQDN" && isReady(endpoint))
      .flatMap((endpoint) =>
        endpoint.addresses.map((address) => {
          const hostname = endpoint.hostname ?? address.replace(/[.:]/g, "-");
          const target = `${hostname}.${service}`;
          return {
            hostname,
            isNamed: endpoint.hostname !== undefined,
            address,
            ports: ports.flatMap(({ name = "", protocol = "TCP", port }) =>
              port === undefined ? [] : [{ name, protocol, record: { target, port, addresses: [address] } }],
            ),
          };
        }),
      );
  });
}

/** An absent condition counts as ready (discovery/v1 EndpointConditions). */
function isReady({ conditions }: Endpoint): boolean {
  return conditions?.ready ?? true;
}

function unique(records: readonly ServiceRecord[]): readonly ServiceRecord[] {
  return [...new Map(records.map((one) => [`${one.target}:${one.port} ${one.addresses}`, one])).values()];
}

function clusterIPs({ spec }: Service): readonly string[] {
  return (spec?.clusterIPs ?? [spec?.clusterIP ?? ""]).filter((text) => isIPv4(text) || isIPv6(text));
}

/** `10-1-2-3.NAMESPACE.pod`: every address has such a name, whether or not a pod has it. */
function lookUpPod([, dashed, ...more]: readonly string[]): Lookup {
  if (dashed === undefined) return found({});
  if (more.length > 0) return missing;
  const address = [dashed.replaceAll("-", "."), dashed.replaceAll("-", ":")].find(
    (text) => isIPv4(text) || isIPv6(text),
  );
  return address === undefined ? missing : found({ addresses: [address] });
}

function lookUpPointer(zone: DnsZone, name: string): Lookup {
  const address = reversedAddress(name);
  if (address === undefined) return foreign;
  const pointers = zone
    .services()
    .filter((service) => clusterIPs(service).includes(address))
    .map(({ metadata }) => `${metadata.name}.${metadata.namespace}.svc.${zone.domain}`);
  for (const { metadata, endpoints } of pointers.length > 0 ? [] : zone.allSlices()) {
    const service = metadata.labels?.["kubernetes.io/service-name"];
    for (const { addresses, hostname } of endpoints ?? [])
      if (service !== undefined && hostname !== undefined && addresses.includes(address))
        pointers.push(`${hostname}.${service}.${metadata.namespace}.svc.${zone.domain}`);
  }
  return pointers.length > 0 ? found({ pointers: [...new Set(pointers)] }) : foreign;
}

/** `4.3.2.1.in-addr.arpa` is 1.2.3.4; in IPv6 each digit is a label. */
function reversedAddress(name: string): string | undefined {
  const v4 = /^(\d+\.\d+\.\d+\.\d+)\.in-addr\.arpa$/.exec(name)?.[1];
  if (v4 !== undefined) {
    const address = v4.split(".").reverse().join(".");
    return isIPv4(address) ? address : undefined;
  }
  const v6 = /^((?:[\da-f]\.){32})ip6\.arpa$/.exec(name)?.[1];
  if (v6 === undefined) return undefined;
  const digits = v6.split(".").reverse().join("");
  return canonicalIPv6(digits.match(/.{4}/g)?.join(":") ?? "");
}

function canonicalIPv6(text: string): string {
  return new URL(`http://[${text}]`).hostname.slice(1, -1);
}
