import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

/** Programs that the scenarios need. */
export const controlPlanePeers = [
  "etcd",
  "kube-apiserver",
  "kube-controller-manager",
  "kube-scheduler",
] as const;

/** Programs that upstream's DRA suite needs. */
export const suitePeers = ["e2e.test", "ginkgo", "agnhost", "sample-device-plugin", "driver-proxy"] as const;

/** Needed besides by nodes with the real kubelet or containerd. */
export const nodePeers = ["kubelet", "containerd", "containerd-shim-runc-v2", "ctr"] as const;

/** Programs that upstream's specs of one node need in addition. */
export const nodeSuitePeers = ["e2e_node.test"] as const;

/** Programs that the Conformance suite needs besides: for Services, for DNS, and in images. */
export const conformancePeers = ["kube-proxy", "coredns", "nnp", "sample-apiserver", "etcd"] as const;

/** Drivers, device plugins and an API server of others, and what their tests need. */
const driverPeers = [
  "dracpu",
  "dra-driver-cpu",
  "dra-example-kubeletplugin",
  "dra-example-controller",
  "dra-example-webhook",
  "dra-example-e2e",
  "dra-example-driver",
  "nvidia-device-plugin",
  "nvidia-device-plugin.yml",
  "libnvidia-ml.so.1",
  "gpu-kubelet-plugin",
  "compute-domain-kubelet-plugin",
  "compute-domain-controller",
  "nvidia-cdi-hook",
  "dra-driver-nvidia-gpu",
  "helm",
  "dranet",
  "dranet.yaml",
  "metrics-server",
  "metrics-server-manifests",
] as const;

export type Peer =
  | (typeof controlPlanePeers)[number]
  | (typeof suitePeers)[number]
  | (typeof nodePeers)[number]
  | (typeof nodeSuitePeers)[number]
  | (typeof conformancePeers)[number]
  | (typeof driverPeers)[number];

/** Folder of the real components of `interop/build`: `$DRAY_PEERS`, else one in the user's cache. */
export function peersFolder(): string {
  const cache = process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache");
  return process.env["DRAY_PEERS"] ?? join(cache, "dray-peers", "bin");
}

/** The program of a real component. */
export function peer(name: Peer): string {
  return join(peersFolder(), name);
}

/** Those of the programs that have not been built. */
export function missingPeers(names: readonly Peer[]): Peer[] {
  return names.filter((name) => !existsSync(peer(name)));
}

/** Returns the version that the component reports: `v1.36.3`. */
export function peerVersion(name: Peer): string {
  const { stdout } = spawnSync(peer(name), ["--version"], { encoding: "utf8" });
  return /\d+\.\d+\.\d+/.exec(stdout)?.[0] ?? "unknown";
}
