import { StatusError } from "@dray/api";
import { Node } from "@dray/api/core/v1";
import { parseNetwork } from "@dray/api/ip";
import { hasReached } from "@dray/client";
import {
  type Controller,
  type ControllerContext,
  controllerQueues,
  recorderOf,
  synced,
} from "../shared/context.ts";
import { CidrSet } from "./cidr-set.ts";

export interface NodeIpamOptions {
  /** Networks of all pods, one for each family. */
  readonly clusterCIDRs: readonly string[];
  /** Prefix lengths of the nodes' parts; 24 and 64 if absent. */
  readonly maskSizes?: { readonly IPv4?: number; readonly IPv6?: number };
  /** Networks of Services, which no node gets. */
  readonly serviceCIDRs?: readonly string[];
}

/** Makes the pools. Throws a TypeError or RangeError for networks that cannot be used. */
export function nodePools({ clusterCIDRs, maskSizes = {}, serviceCIDRs = [] }: NodeIpamOptions): CidrSet[] {
  const { IPv4 = 24, IPv6 = 64 } = maskSizes;
  const pools = clusterCIDRs.map((cidr) => {
    const network = parseNetwork(cidr);
    if (typeof network === "string") throw new TypeError(`${cidr} is not a network, as in 10.244.0.0/16`);
    return new CidrSet(network, network.address.bits === 32 ? IPv4 : IPv6);
  });
  if (pools.length === 2 && pools[0]?.bits === pools[1]?.bits)
    throw new TypeError(
      `${clusterCIDRs.join(" and ")} are of one family: give one IPv4 and one IPv6 network`,
    );
  for (const cidr of serviceCIDRs) for (const pool of pools) pool.occupy(cidr);
  return pools;
}

/**
 * Gives each node a network for its pods.
 *
 * Upstream: pkg/controller/nodeipam/ipam/range_allocator.go.
 */
export async function startNodeIpam(
  context: ControllerContext,
  options: NodeIpamOptions,
): Promise<Controller> {
  const { client, informers } = context;
  const pools = nodePools(options);
  const nodes = informers.of(Node);
  await synced(context, [nodes]);
  const recorder = recorderOf(context, "cidrAllocator");
  // Networks of existing nodes are occupied before new ones are allocated.
  for (const node of nodes.list()) occupy(node);
  const queues = controllerQueues(context);
  const queue = queues.queue("node-ipam", reconcile, 1);
  const changed = (node: Node): void => {
    if (cidrsOf(node).length === 0) queue.add(node.metadata.name);
    else occupy(node);
  };
  nodes.handle({
    add: changed,
    update: changed,
    delete(node) {
      for (const cidr of cidrsOf(node)) for (const pool of pools) pool.release(cidr);
      // There is room again.
      for (const other of nodes.list()) if (cidrsOf(other).length === 0) queue.add(other.metadata.name);
    },
  });

  function occupy(node: Node): void {
    for (const cidr of cidrsOf(node)) for (const pool of pools) pool.occupy(cidr);
  }

  async function reconcile(name: string): Promise<void> {
    const node = nodes.get({ name });
    if (node === undefined || cidrsOf(node).length > 0) return;
    const taken = pools.map((pool) => pool.take());
    const podCIDRs = taken.flatMap((cidr) => cidr ?? []);
    const giveBack = (): void => {
      for (const cidr of podCIDRs) for (const pool of pools) pool.release(cidr);
    };
    if (podCIDRs.length < pools.length) {
      giveBack();
      const message = `Node ${name} status is now: CIDRNotAvailable`;
      recorder.event(node, "Normal", "CIDRNotAvailable", message);
      return;
    }
    try {
      const { uid, resourceVersion } = node.metadata;
      const written = await client.resource(Node).patch({ name }, "strategic", {
        metadata: { uid, resourceVersion },
        spec: { podCIDR: podCIDRs[0], podCIDRs },
      });
      await nodes.until(() => hasReached(nodes, written));
    } catch (error) {
      // Without a response the write may have succeeded: the watch shows it.
      if (error instanceof StatusError && error.code < 500) giveBack();
      throw error;
    }
  }

  return queues.controller;
}

function cidrsOf({ spec }: Node): readonly string[] {
  return spec?.podCIDRs ?? (spec?.podCIDR ? [spec.podCIDR] : []);
}
