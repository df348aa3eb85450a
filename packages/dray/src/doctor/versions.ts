import type { Node } from "@dray/api/core/v1";
import { counted } from "../text/words.ts";
import { type Finding, finding, type ServerVersions, type Snapshot } from "./finding.ts";

/**
 * Maximum number of minor versions by which a kubelet may be older than the API server (Kubernetes' version
 * skew policy).
 */
const maxSkew = 3;

/** The version of resource.k8s.io in which a kubelet reads claims, since 1.31. */
const claimVersions: readonly (readonly [since: number, version: string])[] = [
  [34, "v1"],
  [32, "v1beta1"],
  [31, "v1alpha3"],
];

export function checkVersions({ world, server }: Snapshot): Finding[] {
  if (server === undefined) return [];
  return world.all("Node").flatMap(({ object: node }) => {
    const text = node.status?.nodeInfo?.kubeletVersion ?? "";
    const minor = minorOf(text);
    const api = minorOf(server.release);
    if (minor === undefined || api === undefined) return [];
    const version = { text, minor };
    return [...skew(node, version, api, server), ...unreadableVersion(node, version, world, server)];
  });
}

const minorOf = (text: string): number | undefined => {
  const minor = /^v?1\.(\d+)/.exec(text)?.[1];
  return minor === undefined ? undefined : Number(minor);
};

/** The version of a kubelet. */
interface Version {
  readonly text: string;
  readonly minor: number;
}

function skew(node: Node, kubelet: Version, api: number, { release }: ServerVersions): Finding[] {
  const evidence = [`status.nodeInfo.kubeletVersion is ${kubelet.text}`, `the API server is ${release}`];
  if (kubelet.minor > api) {
    const message = `its kubelet is ${counted(kubelet.minor - api, "minor version")} newer than the API server`;
    return [finding("versions-out-of-step", node, message, { evidence, fix: ["kubectl version"] })];
  }
  if (api - kubelet.minor <= maxSkew) return [];
  const message = `its kubelet is ${api - kubelet.minor} minor versions older than the API server: at most ${maxSkew} are supported`;
  const upgrade = `its kubelet has to be upgraded to 1.${api - maxSkew} or later, up to ${release}`;
  return [
    finding("versions-out-of-step", node, message, { evidence: [...evidence, upgrade], fix: [lookAt(node)] }),
  ];
}

/** No command of kubectl upgrades a kubelet. */
const lookAt = (node: Node): string => `kubectl get node ${node.metadata.name} -o wide`;

/** Reports a node with devices whose kubelet cannot read claims. */
function unreadableVersion(
  node: Node,
  kubelet: Version,
  world: Snapshot["world"],
  { served }: ServerVersions,
): Finding[] {
  const version = claimVersions.find(([since]) => kubelet.minor >= since)?.[1];
  const hasDevices = world.slicesOf(node.metadata.name).length > 0;
  if (!hasDevices || (version !== undefined && served.includes(version))) return [];
  const needed =
    version === undefined ? "an older API than any that is served" : `resource.k8s.io/${version}`;
  const evidence = [
    `status.nodeInfo.kubeletVersion is ${kubelet.text}, which reads claims in ${needed}`,
    `the API server serves resource.k8s.io in ${served.join(", ") || "no version"}`,
    "its kubelet has to be upgraded, or the API server has to serve that version (--runtime-config)",
  ];
  const fix = ["kubectl api-versions", lookAt(node)];
  const message = "has devices, and its kubelet cannot read claims of this API server";
  return [finding("versions-out-of-step", node, message, { evidence, fix })];
}
