import { join } from "node:path";
import { cdiRegistry } from "@dray/cdi";
import type { RuntimeFactory } from "../factory.ts";
import type { OciImages } from "./images/service.ts";
import { PodNetwork } from "./network/network.ts";
import { OciRuntime } from "./runtime.ts";

export interface OciRuntimeSettings {
  /** Opened and closed by the caller; all nodes of the machine may share them. */
  readonly images: OciImages;
  /** A folder that all nodes of the cluster on this machine share, which holds the state of their network. */
  readonly networkDir: string;
  /** Folder of the runtime's records; `var/lib/dray` below the node's root by default. */
  readonly stateDir?: string;
  /**
   * The network of pods with `hostNetwork`. `node`: one of the node's own, whose address
   * `reserveNodeAddresses` returns for `KubeletOptions.nodeAddress`. `machine` by default.
   */
  readonly hostNetwork?: "node" | "machine";
}

/**
 * Reserves addresses for nodes in networks of their own, as `KubeletOptions.nodeAddress`, by name. Undefined
 * if this machine lacks what such networks need: then nodes have the machine's. Needs root on Linux.
 */
export function reserveNodeAddresses(
  networkDir: string,
  nodes: readonly string[],
): Promise<ReadonlyMap<string, string> | undefined> {
  return PodNetwork.reserve(networkDir, nodes);
}

/** Releases the addresses of nodes whose agents have never run; the others release their own. */
export function releaseNodeAddresses(networkDir: string): Promise<void> {
  return PodNetwork.release(networkDir);
}

/** A runtime with isolated containers, by runc. Needs root on Linux. */
export function ociRuntime({
  images,
  networkDir,
  stateDir,
  hostNetwork = "machine",
}: OciRuntimeSettings): RuntimeFactory {
  return ({ nodeName, paths, nodeAddress, clock, newId, log }) => ({
    service: new OciRuntime({
      directory: stateDir ?? join(paths.root, "var/lib/dray"),
      networkDirectory: networkDir,
      nodeName,
      nodeAddress,
      hostNetwork,
      networkNamespaces: join(paths.root, "run/netns"),
      nodePath: (path) => paths.onNode(path),
      images,
      cdi: cdiRegistry(paths.cdi),
      hostPath: (path) => paths.onMachine(path),
      clock,
      newId,
      log,
    }),
    images,
  });
}
