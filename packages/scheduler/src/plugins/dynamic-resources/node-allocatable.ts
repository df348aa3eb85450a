/**
 * Devices that are, or need, cpu, memory or the like of their node (KEP-5517): what a pod takes beyond its
 * containers' requests. Upstream: dynamicresources/nodeallocatabledynamicresources.go.
 */
import { Quantity } from "@dray/api";
import type {
  NodeAllocatableMappedResources,
  NodeAllocatableOverheadResources,
  NodeAllocatableResourceClaimStatus,
  Pod,
} from "@dray/api/core/v1";
import {
  type Amounts,
  claimsOfContainer,
  containerTotal,
  isPodLevelResource,
  podRequests,
} from "@dray/api/pod";
import type {
  AllocationResult,
  Device,
  DeviceRequestAllocationResult,
  NodeAllocatableMapping,
} from "@dray/api/resource/v1";
import type { NodeInfo } from "../../framework/node-info.ts";

type Result = DeviceRequestAllocationResult;
/** The device of a result as it is published; undefined: the node reaches none. */
export type FindDevice = (result: Result) => Device | undefined;

/** A claim of a pod with its allocation, or the one that it would have on a node. */
export interface AllocatedClaim {
  readonly name: string;
  /** The entries of `spec.resourceClaims` that stand for it. */
  readonly entries: readonly string[];
  readonly allocation: AllocationResult;
}

const resultsOf = (allocation: AllocationResult): readonly Result[] => allocation.devices?.results ?? [];

/**
 * Reports whether a device of the allocation stands for resources of the node: then only one pod may have it.
 */
export function hasMappedDevice(allocation: AllocationResult, find: FindDevice): boolean {
  return resultsOf(allocation).some((result) =>
    Object.values(find(result)?.nodeAllocatableResources ?? {}).some(({ mapping }) => mapping !== undefined),
  );
}

/**
 * Node resources of the pod's claims, for `status.nodeAllocatableResourceClaimStatuses`; empty: nothing.
 * Throws where a device of such a claim is not published, or has not recorded what was taken of its capacity.
 */
export function nodeAllocatableStatuses(
  pod: Pod,
  claims: readonly AllocatedClaim[],
  find: FindDevice,
): readonly NodeAllocatableResourceClaimStatus[] {
  const statuses: NodeAllocatableResourceClaimStatus[] = [];
  const containers = [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
  for (const { name, entries, allocation } of claims) {
    const takes = resultsOf(allocation).some(
      (result) => Object.keys(find(result)?.nodeAllocatableResources ?? {}).length > 0,
    );
    if (!takes) continue;
    const taken = new ClaimTotal(`claim ${pod.metadata.namespace}/${name}`);
    for (const result of resultsOf(allocation)) taken.add(result, find(result));
    if (taken.isEmpty) continue;
    statuses.push({
      resourceClaimName: name,
      containers: containers.flatMap((container) =>
        (container.resources?.claims ?? []).flatMap((one) =>
          entries.includes(one.name) ? [container.name] : [],
        ),
      ),
      ...taken.status(),
    } as NodeAllocatableResourceClaimStatus);
  }
  return statuses.sort((a, b) => (a.resourceClaimName < b.resourceClaimName ? -1 : 1));
}

/** The sums over the devices of one claim, by resource. */
class ClaimTotal {
  readonly #title: string;
  readonly #mapping: Amounts = new Map();
  readonly #perPod: Amounts = new Map();
  readonly #perContainer: Amounts = new Map();

  constructor(title: string) {
    this.#title = title;
  }

  get isEmpty(): boolean {
    return this.#mapping.size + this.#perPod.size + this.#perContainer.size === 0;
  }

  add(result: Result, device: Device | undefined): void {
    const { device: name, pool, driver } = result;
    if (device === undefined)
      throw new Error(`${this.#title}: device ${name} not found in pool ${pool} for driver ${driver}`);
    for (const [resource, { mapping, overhead }] of Object.entries(device.nodeAllocatableResources ?? {})) {
      if (mapping !== undefined) sum(this.#mapping, resource, this.#mapped(resource, mapping, result));
      sum(this.#perPod, resource, parsed(overhead?.perPod));
      sum(this.#perContainer, resource, parsed(overhead?.perContainer));
    }
  }

  #mapped(resource: string, mapping: NodeAllocatableMapping, result: Result): Quantity | undefined {
    const { capacityKey, capacityMultiplier, deviceMultiplier } = mapping;
    if (!capacityKey) return parsed(deviceMultiplier);
    if (result.consumedCapacity === undefined) {
      const why = `ConsumedCapacity is nil, but Capacity key '${capacityKey}' is set in NodeAllocatableResources`;
      throw new Error(`${this.#title}, device ${result.device}: ${why} for resource ${resource}`);
    }
    const consumed = parsed(result.consumedCapacity[capacityKey]);
    return capacityMultiplier === undefined ? consumed : consumed?.scale(Quantity.parse(capacityMultiplier));
  }

  status(): Pick<NodeAllocatableResourceClaimStatus, "mapping" | "overhead"> {
    const mapping = [...this.#mapping].map(
      ([name, quantity]): NodeAllocatableMappedResources => ({ name, quantity: quantity.toString() }),
    );
    const names = new Set([...this.#perPod.keys(), ...this.#perContainer.keys()]);
    const overhead = [...names].map((name): NodeAllocatableOverheadResources => {
      const [perPod, perContainer] = [this.#perPod.get(name), this.#perContainer.get(name)];
      return {
        name,
        ...(perPod && { perPod: perPod.toString() }),
        ...(perContainer && { perContainer: perContainer.toString() }),
      };
    });
    return { mapping: mapping.sort(byName), overhead: overhead.sort(byName) };
  }
}

const byName = (a: { readonly name: string }, b: { readonly name: string }): number =>
  a.name < b.name ? -1 : 1;

const parsed = (text: string | undefined): Quantity | undefined =>
  text === undefined ? undefined : Quantity.parse(text);

function sum(total: Amounts, name: string, quantity: Quantity | undefined): void {
  if (quantity !== undefined) total.set(name, total.get(name)?.add(quantity) ?? quantity);
}

/** The pod as it would be with its claims on the node. */
export const withStatuses = (pod: Pod, statuses: readonly NodeAllocatableResourceClaimStatus[]): Pod => ({
  ...pod,
  status: { ...pod.status, nodeAllocatableResourceClaimStatuses: [...statuses] },
});

/** Lack of resources on a node. */
export interface Shortage {
  readonly reasons: readonly string[];
  /** False: the whole node has too little. */
  readonly resolvable: boolean;
}

/**
 * Returns why the pod with its claims (`withStatuses`) does not fit: the limits that it sets itself, or what
 * the node has left.
 */
export function shortageOf(pod: Pod, node: NodeInfo): Shortage | undefined {
  const uncovered = uncoveredByPod(pod);
  if (uncovered !== undefined) return { reasons: [uncovered], resolvable: false };
  const reasons: string[] = [];
  let resolvable = true;
  for (const [name, quantity] of podRequests(pod, { useClaims: true })) {
    if (!isCounted(name)) continue;
    const asked = Number(name === "cpu" ? quantity.milliValue() : quantity.value());
    const allocatable = node.allocatable.get(name) ?? 0;
    if (asked === 0 || asked <= allocatable - (node.requested.get(name) ?? 0)) continue;
    reasons.push(`Insufficient ${name}`);
    if (asked > allocatable) resolvable = false;
  }
  return reasons.length === 0 ? undefined : { reasons, resolvable };
}

const isHugePages = (name: string): boolean => name.startsWith("hugepages-");
const isCounted = (name: string): boolean =>
  name === "cpu" || name === "memory" || name === "ephemeral-storage" || isHugePages(name);

/**
 * Pod-level resources must cover the containers with their claims; the API server cannot check that
 * before devices are chosen. Upstream: validatePodLevelResourcesCoverDRA.
 */
function uncoveredByPod(pod: Pod): string | undefined {
  const { requests, limits } = pod.spec.resources ?? {};
  const total = (side: "requests" | "limits"): Amounts => containerTotal(pod, side, { useClaims: true });
  const exceeds = (quantity: Quantity | undefined, most: string): boolean =>
    quantity !== undefined && quantity.compare(Quantity.parse(most)) > 0;
  if (requests !== undefined) {
    const sums = total("requests");
    for (const [name, most] of Object.entries(requests)) {
      if (!isPodLevelResource(name) || !exceeds(sums.get(name), most)) continue;
      return `pod level request for ${name} is insufficient to cover the aggregated container and node-allocatable DRA requests`;
    }
  }
  if (limits === undefined) return undefined;
  const sums = total("limits");
  for (const [name, most] of Object.entries(limits)) {
    if (!isHugePages(name) || !exceeds(sums.get(name), most)) continue;
    return `pod level limit for ${name} is insufficient to cover the aggregated container and node-allocatable DRA limits`;
  }
  for (const { name: container, resources } of pod.spec.containers) {
    const claimed = claimsOfContainer(pod, container);
    for (const [name, limit] of Object.entries(resources?.limits ?? {})) {
      const most = limits[name];
      if (isHugePages(name) || most === undefined) continue;
      const own = Quantity.parse(limit);
      if (!exceeds(own.add(claimed.get(name) ?? Quantity.of(0)), most)) continue;
      return `pod level limit for ${name} is insufficient to cover the limit and DRA overhead for container ${container}`;
    }
  }
  return undefined;
}
