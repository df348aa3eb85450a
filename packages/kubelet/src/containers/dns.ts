import { readFileSync } from "node:fs";
import type { Pod, PodDNSConfig } from "@dray/api/core/v1";
import { parseResolvConf, setOption } from "../dns/resolv-conf.ts";
import type { DnsConfig } from "../runtime/config.ts";
import { podText } from "../types/pod-text.ts";

/** How pods of a node resolve names. */
export interface ClusterDns {
  /**
   * Addresses of the cluster's DNS servers. If empty, pods use the servers of the machine, with an event; if
   * undefined, without one, since the cluster offers no DNS.
   */
  readonly servers: readonly string[] | undefined;
  /** Domain of Services and pods: `cluster.local`. */
  readonly domain: string;
  /** Lines of /etc/hosts with the names of Services for pods of a namespace, where no server knows them. */
  readonly names?: ((namespace: string) => string) | undefined;
  /** The resolv.conf on the machine for pods with `dnsPolicy: Default`. */
  readonly resolvConf: string;
  /**
   * Reports whether a pod reaches servers on the machine's loopback addresses, such as that of
   * systemd-resolved; all do by default. Others use those of the cluster, which forward to them.
   */
  reachesLoopback?(pod: Pod): boolean;
}

export const machineResolvConf = "/etc/resolv.conf";

export interface PodDns {
  /** Undefined for the configuration of the machine. */
  readonly config: DnsConfig | undefined;
  /** Events of the pod. */
  readonly warnings: readonly { readonly reason: string; readonly message: string }[];
}

/**
 * Upstream: pkg/apis/core/validation/validation.go, MaxDNS*. Resolvers of some libraries abort their program
 * above these.
 */
const maxServers = 3;
const maxSearches = 32;
const maxSearchLength = 253;
const maxSearchLine = 2048;

/**
 * Resolves the `dnsPolicy` and `dnsConfig` of a pod.
 *
 * Upstream: pkg/kubelet/network/dns/dns.go, GetPodDNS.
 */
export function podDns(pod: Pod, cluster: ClusterDns, read = readResolvConf): PodDns {
  const { dnsConfig, dnsPolicy = "ClusterFirst" } = pod.spec;
  const warnings: { reason: string; message: string }[] = [];
  const wantsCluster = resolvesServices(pod);
  const { domain, servers: clusterServers = [] } = cluster;
  const isCluster = wantsCluster && clusterServers.length > 0;
  if (wantsCluster && !isCluster && cluster.servers !== undefined)
    warnings.push({
      reason: "MissingClusterDNS",
      message: `pod: "${podText(pod)}". kubelet does not have ClusterDNS IP configured and cannot create Pod using "ClusterFirst" policy. Falling back to "Default" policy.`,
    });
  const isMachine = dnsPolicy !== "None" && !isCluster;
  const found = dnsPolicy === "None" ? empty : parseResolvConf(read(cluster.resolvConf));
  const isUnreachable = cluster.reachesLoopback?.(pod) === false && found.servers.some(isLoopback);
  if (isMachine && !isUnreachable && dnsConfig === undefined && cluster.resolvConf === machineResolvConf)
    return { config: undefined, warnings };
  const machine = isUnreachable ? withoutLoopback(found, clusterServers) : found;
  const own = [`${pod.metadata.namespace}.svc.${domain}`, `svc.${domain}`, domain];
  const base = isCluster
    ? { servers: clusterServers, searches: unique([...own, ...machine.searches]), options: ["ndots:5"] }
    : machine;
  const merged = dnsConfig === undefined ? base : merge(base, dnsConfig);
  const servers = merged.servers.slice(0, maxServers);
  if (servers.length < merged.servers.length)
    warnings.push({
      reason: "DNSConfigForming",
      message: `Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: ${servers.join(" ")}`,
    });
  const searches = fittingSearches(merged.searches);
  if (searches.length < merged.searches.length)
    warnings.push({
      reason: "DNSConfigForming",
      message: `Search Line limits were exceeded, some search paths have been omitted, the applied search line is: ${searches.join(" ")}`,
    });
  return { config: { servers, searches, options: merged.options }, warnings };
}

/** Reports whether a pod resolves names of the cluster, by its `dnsPolicy`. */
export function resolvesServices({ spec }: Pod): boolean {
  const { dnsPolicy = "ClusterFirst", hostNetwork } = spec;
  return dnsPolicy === "ClusterFirstWithHostNet" || (dnsPolicy === "ClusterFirst" && !hostNetwork);
}

/** As kubeadm, which passes systemd-resolved's own servers: those of its stub serve the machine alone. */
function withoutLoopback(machine: DnsConfig, clusterServers: readonly string[]): DnsConfig {
  const servers = machine.servers.filter((server) => !isLoopback(server));
  return { ...machine, servers: servers.length > 0 ? servers : clusterServers };
}

function isLoopback(address: string): boolean {
  return address.startsWith("127.") || address === "::1";
}

const empty: DnsConfig = { servers: [], searches: [], options: [] };

function merge(base: DnsConfig, { nameservers = [], searches = [], options = [] }: PodDNSConfig): DnsConfig {
  const merged = new Map<string, string>();
  for (const option of base.options) setOption(merged, option);
  for (const { name = "", value } of options) setOption(merged, value ? `${name}:${value}` : name);
  return {
    servers: unique([...base.servers, ...nameservers]),
    searches: unique([...base.searches, ...searches]),
    options: [...merged.values()],
  };
}

function unique(list: readonly string[]): string[] {
  return [...new Set(list)];
}

function fittingSearches(searches: readonly string[]): string[] {
  const fitting = searches.slice(0, maxSearches).filter(({ length }) => length <= maxSearchLength);
  while (fitting.join(" ").length > maxSearchLine) fitting.pop();
  return fitting;
}

function readResolvConf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return "";
    throw error;
  }
}
