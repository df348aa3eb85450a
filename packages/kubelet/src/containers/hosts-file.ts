import {
  chmodSync,
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  openSync,
  readFileSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import type { HostAlias, Pod } from "@dray/api/core/v1";
import { makeFolderSync } from "@dray/files";
import { type HostsNode, machineHosts, nodeHosts } from "../base/node-hosts.ts";
import type { NodePaths } from "../base/paths.ts";
import type { MountConfig } from "../runtime/config.ts";
import { type ClusterDns, resolvesServices } from "./dns.ts";
import { podHostname } from "./hostname.ts";

const hostsPath = "/etc/hosts";

export interface HostsFileInput {
  readonly pod: Pod;
  readonly podIPs: readonly string[];
  readonly dns: Pick<ClusterDns, "domain" | "names">;
  /** The node if it has a network of its own; undefined for the machine's. */
  readonly node?: HostsNode | undefined;
}

/** Lines between which the node keeps the names of Services. */
const [namesBegin, namesEnd] = ["# Names of Services, kept by the node.", "# End of the names of Services."];

/**
 * Writes the pod's /etc/hosts below its folder, and returns its mount. Undefined for a pod without an
 * address.
 *
 * Upstream: pkg/kubelet/kubelet_pods.go, shouldMountHostsFile, makeHostsMount.
 */
export function hostsMount(input: HostsFileInput, paths: NodePaths): MountConfig | undefined {
  const { pod, podIPs } = input;
  if (podIPs.length === 0 && !pod.spec.hostNetwork) return undefined;
  const path = hostsPathOf(pod, paths);
  makeFolderSync(dirname(path), 0o750);
  // Written in place, since running containers have this file mounted.
  const { node } = input;
  const ofNode = (): string => (node === undefined ? machineHosts() : nodeHosts(node));
  writeFileSync(path, hostsFile(input, pod.spec.hostNetwork ? ofNode() : undefined));
  chmodSync(path, 0o644);
  return { hostPath: path, containerPath: hostsPath, readOnly: false };
}

/** `host` is the text of the node's file, for a pod with the node's network. */
export function hostsFile(
  { pod, podIPs, dns }: Pick<HostsFileInput, "pod" | "podIPs" | "dns">,
  host: string | undefined,
): string {
  const aliases = aliasLines(pod.spec.hostAliases ?? []) + namesSection(pod, dns);
  if (host !== undefined) return `# Kubernetes-managed hosts file (host network).\n${host}${aliases}`;
  const { hostname, domain } = podHostname(pod, dns.domain);
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

function namesSection(pod: Pod, { names }: HostsFileInput["dns"]): string {
  if (names === undefined || !resolvesServices(pod)) return "";
  return `\n${namesBegin}\n${names(pod.metadata.namespace)}${namesEnd}\n`;
}

/** Maximum size in bytes of a file whose names are replaced. */
const maxHostsFile = 4 * 1024 * 1024;

/** Replaces the names of Services in the hosts file of a pod that has some; other lines are the pod's. */
export function updateNames(pod: Pod, paths: NodePaths, names: string): void {
  const path = hostsPathOf(pod, paths);
  let file: number;
  try {
    file = openSync(path, constants.O_RDWR | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch {
    // No container of the pod has been started yet.
    return;
  }
  try {
    const stat = fstatSync(file);
    // The pod may have made anything of it.
    if (!stat.isFile() || stat.size > maxHostsFile) return;
    const before = readFileSync(file, "utf8");
    const begin = before.indexOf(`${namesBegin}\n`);
    const end = before.indexOf(namesEnd, begin);
    if (begin < 0 || end < 0) return;
    const after = `${before.slice(0, begin)}${namesBegin}\n${names}${before.slice(end)}`;
    if (after !== before) overwrite(file, after, Buffer.byteLength(before));
  } finally {
    closeSync(file);
  }
}

/**
 * Writes a file that others read, without a moment in which it lacks a line: it is cut off at its new end
 * when nothing but empty lines is behind that.
 */
function overwrite(file: number, text: string, lengthBefore: number): void {
  const bytes = Buffer.from(text);
  const padding = Buffer.alloc(Math.max(0, lengthBefore - bytes.length), "\n");
  writeSync(file, Buffer.concat([bytes, padding]), 0, bytes.length + padding.length, 0);
  ftruncateSync(file, bytes.length);
}

function hostsPathOf({ metadata: { uid } }: Pod, paths: NodePaths): string {
  return join(paths.pods, uid, "etc-hosts");
}
