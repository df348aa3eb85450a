import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

export type Peer = "etcd" | "kube-apiserver" | "kube-controller-manager" | "kube-scheduler";

const peers: readonly Peer[] = ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"];

/** Where `interop/build` puts the real components: `$DRAY_PEERS`, else a folder of the user's cache. */
function folder(): string {
  const cache = process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache");
  return process.env["DRAY_PEERS"] ?? join(cache, "dray-peers", "bin");
}

/** The program of a real component. */
export function peer(name: Peer): string {
  return join(folder(), name);
}

/** The real components that have not been built. */
export function missingPeers(): Peer[] {
  return peers.filter((name) => !existsSync(peer(name)));
}

/** What the component says of its version: `v1.36.3`. */
export function peerVersion(name: Peer): string {
  const { stdout } = spawnSync(peer(name), ["--version"], { encoding: "utf8" });
  return /\d+\.\d+\.\d+/.exec(stdout)?.[0] ?? "unknown";
}
