import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { HostAlias, Pod } from "@dray/api/core/v1";
import { makeFolderSync } from "@dray/files";
import type { NodePaths } from "../base/paths.ts";
import type { MountConfig } from "../runtime/config.ts";
import { podHostname } from "./hostname.ts";

const hostsPath = "/etc/hosts";

export interface HostsFileInput {
  readonly pod: Pod;
  readonly podIPs: readonly string[];
  readonly clusterDomain: string;
}

/**
 * Writes the pod's /etc/hosts below its folder, and returns its mount. Undefined for a pod without an
 * address.
 *
 * Upstream: pkg/kubelet/kubelet_pods.go, shouldMountHostsFile, makeHostsMount.
 */
export function hostsMount(input: HostsFileInput, paths: NodePaths): MountConfig | undefined {
  const { pod, podIPs } = input;
  if (podIPs.length === 0 && !pod.spec.hostNetwork) return undefined;
  const folder = join(paths.pods, pod.metadata.uid);
  makeFolderSync(folder, 0o750);
  const path = join(folder, "etc-hosts");
  // Written in place, since running containers have this file mounted.
  writeFileSync(path, hostsFile(input, pod.spec.hostNetwork ? machineHosts() : undefined));
  chmodSync(path, 0o644);
  return { hostPath: path, containerPath: hostsPath, readOnly: false };
}

/** `machine` is the text of the machine's file, for a pod with the machine's network. */
export function hostsFile(
  { pod, podIPs, clusterDomain }: HostsFileInput,
  machine: string | undefined,
): string {
  const aliases = aliasLines(pod.spec.hostAliases ?? []);
  if (machine !== undefined) return `# Kubernetes-managed hosts file (host network).\n${machine}${aliases}`;
  const { hostname, domain } = podHostname(pod, clusterDomain);
  const names = domain === "" ? hostname : `${hostname}.${domain}\t${hostname}`;
  const lines = [
    "# Kubernetes-managed hosts file.",
    "127.0.0.1\tlocalhost",
    "::1\tlocalhost ip6-localhost ip6-loopback",
    "fe00::0\tip6-localnet",
    "fe00::0\tip6-mcastprefix",
    "fe00::1\tip6-allnodes",
    "fe00::2\tip6-allrouters",
    ...podIPs.map((ip) => `${ip}\t${names}`),
  ];
  return `${lines.join("\n")}\n${aliases}`;
}

function aliasLines(aliases: readonly HostAlias[]): string {
  if (aliases.length === 0) return "";
  const lines = aliases.map(({ ip, hostnames = [] }) => [ip, ...hostnames].join("\t"));
  return `\n# Entries added by HostAliases.\n${lines.join("\n")}\n`;
}

function machineHosts(): string {
  try {
    return readFileSync(hostsPath, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return "";
    throw error;
  }
}
