import { existsSync } from "node:fs";
import { join } from "node:path";
import type { ClusterConfig } from "../data-dir/config.ts";
import type { Layout } from "../data-dir/layout.ts";

/** Folder of the network of a cluster with the runtime oci. */
const networkDir = ({ ociDir }: Layout): string => join(ociDir, "network");

function hasOwnNetworks({ runtime, hostNetwork }: ClusterConfig): boolean {
  return runtime === "oci" && hostNetwork !== "machine";
}

/** Addresses of nodes that have networks of their own, by name; empty if they have the machine's. */
export async function nodeAddresses(
  layout: Layout,
  config: ClusterConfig,
  nodes: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (!hasOwnNetworks(config) || nodes.length === 0) return new Map();
  const { reserveNodeAddresses } = await import("@dray/kubelet");
  // If this machine cannot, the agents say why.
  return (await reserveNodeAddresses(networkDir(layout), nodes).catch(() => undefined)) ?? new Map();
}

/** Releases the addresses of nodes whose agents have never run. */
export async function releaseAddresses(layout: Layout, config: ClusterConfig): Promise<void> {
  if (!hasOwnNetworks(config) || !existsSync(networkDir(layout))) return;
  const { releaseNodeAddresses } = await import("@dray/kubelet");
  await releaseNodeAddresses(networkDir(layout));
}
