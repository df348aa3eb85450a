/** A device as its plugin reports it. */
export interface Device {
  readonly id: string;
  readonly healthy: boolean;
  /** In ascending order; empty for a device without a NUMA node. */
  readonly numaNodes: readonly number[];
}

/**
 * Maximum number of nodes with devices for which devices are aligned, since all combinations are tried; as
 * upstream.
 */
const maxNodes = 8;

/** Request of a container for one resource, and the devices that are available to it. */
export interface NumaRequest {
  readonly count: number;
  readonly devices: readonly Device[];
}

/** Returns the nodes in ascending order without duplicates. */
export function numaNodesOf(nodes: readonly number[]): number[] {
  return [...new Set(nodes)].sort((a, b) => a - b);
}

/**
 * Returns the smallest set of NUMA nodes that has enough devices for all requests, so that a GPU and a NIC
 * come from the same node if possible. Undefined if no device has a node, or there is no such set. Among sets
 * of one size the one with the lowest nodes wins.
 *
 * Upstream: pkg/kubelet/cm/devicemanager/topology_hints.go and the policy best-effort of the topology
 * manager.
 */
export function numaAffinity(requests: readonly NumaRequest[]): ReadonlySet<number> | undefined {
  // A resource without topology matches any node.
  const aligned = requests.filter(({ devices }) => devices.some(({ numaNodes }) => numaNodes.length > 0));
  const nodes = numaNodesOf(aligned.flatMap(({ devices }) => devices.flatMap(({ numaNodes }) => numaNodes)));
  if (nodes.length === 0 || nodes.length > maxNodes) return undefined;
  const bit = new Map(nodes.map((node, index) => [node, 1 << index]));
  // Counted by combination of nodes, since there are many devices and few combinations.
  const counts = aligned.map(({ count, devices }) => {
    const byMask = new Map<number, number>();
    for (const { numaNodes } of devices) {
      const mask = numaNodes.reduce((sum, node) => sum | (bit.get(node) ?? 0), 0);
      byMask.set(mask, (byMask.get(mask) ?? 0) + 1);
    }
    return { count, byMask };
  });
  const satisfies = (mask: number): boolean =>
    counts.every(({ count, byMask }) => {
      let found = 0;
      for (const [devices, number] of byMask) if ((devices & mask) !== 0) found += number;
      return found >= count;
    });
  let best: number | undefined;
  for (let mask = 1; mask < 1 << nodes.length; mask++)
    if ((best === undefined || size(mask) < size(best)) && satisfies(mask)) best = mask;
  if (best === undefined) return undefined;
  const chosen = best;
  return new Set(nodes.filter((node) => (chosen & (bit.get(node) ?? 0)) !== 0));
}

function size(mask: number): number {
  let bits = 0;
  for (let rest = mask; rest !== 0; rest &= rest - 1) bits++;
  return bits;
}
