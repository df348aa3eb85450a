import type { Allocator } from "@dray/allocator";
import type { Node } from "@dray/api/core/v1";
import type { DeviceRequest, DeviceSubRequest } from "@dray/api/resource/v1";
import { maxPackSteps, Packing } from "./packing.ts";
import { searchedHeadroom } from "./searched-headroom.ts";
import { claimOf, type Shape, takesNothing } from "./shapes.ts";
import type { SuitableByNode } from "./suitable.ts";
import type { SuppliedDevice, Supply } from "./supply.ts";

/** How many more claims of a shape fit at the same time. */
export interface Headroom {
  readonly count: number;
  /** The search was cut off, or nodes share devices that it does not try in every order: more may fit. */
  readonly isLowerBound: boolean;
  /** By node. Devices that several nodes can reach count on the first of them. */
  readonly nodes: ReadonlyMap<string, number>;
}

interface HeadroomSources {
  readonly allocator: Allocator;
  readonly suitable: SuitableByNode;
  readonly supply: Supply;
}

type ExactRequest = NonNullable<DeviceRequest["exactly"]>;

/** The devices of one node for one request, and how many of them a claim takes. */
interface Demand {
  readonly count: number;
  readonly devices: readonly SuppliedDevice[];
}

/** The most claims that fit; infinite if devices can be shared without limit. */
interface Most {
  readonly claims: number;
  readonly isExact: boolean;
}

/** Stands for an unlimited number of shares of one device. */
const manyShares = 1_000_000;

/**
 * Computes how many more claims of a shape fit. Where each request is for a number of devices, and nothing
 * else ties them together, the most that can be allocated at once are counted: the devices are packed into
 * the rest of their counters. For other shapes (constraints, alternatives, mode All, requests that compete
 * with each other) the allocator places one claim after the other.
 */
export class Headrooms {
  readonly #sources: HeadroomSources;
  readonly #packing: Packing;

  constructor(sources: HeadroomSources, maxSteps = maxPackSteps) {
    this.#sources = sources;
    this.#packing = new Packing(maxSteps);
  }

  /** Undefined: no limit, as they take no devices, or devices that are shared without limit. */
  of(shape: Shape, wanted: readonly Node[]): Headroom | undefined {
    if (takesNothing(shape)) return undefined;
    const candidates = this.#sources.allocator.candidates([claimOf(shape)]);
    const nodes = wanted.filter(({ metadata: { name } }) => candidates?.has(name) ?? true);
    const demands = nodes.map((node) => this.#demandsOf(node, shape));
    const isTied =
      shape.constraints.length > 0 || !isPlain(shape) || nodes.some((node) => this.#fails(node, shape));
    if (!isTied && demands.every((each) => each.length === 1 && each[0]!.count === 1))
      return this.#packAll(nodes, demands);
    const areNodesAlone = areIndependent(demands.map(together));
    if (isTied || !areNodesAlone || !demands.every(areIndependent))
      return this.#search(shape, nodes, { areNodesAlone, limit: this.#limitOf(shape, demands) });
    const most = demands.map((each) => this.#claimsOf(each));
    const count = sumOf(most);
    if (!Number.isFinite(count)) return undefined;
    const byNode = nodes.map(({ metadata: { name } }, i): [string, number] => [name, most[i]!.claims]);
    return {
      count,
      isLowerBound: most.some(({ isExact }) => !isExact),
      nodes: new Map(byNode.filter(([, claims]) => claims > 0)),
    };
  }

  /** `limit`: no more than these can fit. */
  #search(
    shape: Shape,
    nodes: readonly Node[],
    { areNodesAlone, limit }: { readonly areNodesAlone: boolean; readonly limit: number | undefined },
  ): Headroom {
    const { count, isComplete, nodes: byNode } = searchedHeadroom(this.#sources.allocator, nodes, shape);
    return { count, isLowerBound: count !== limit && !(isComplete && areNodesAlone), nodes: byNode };
  }

  /** Returns how many claims fit if nothing ties their requests together; undefined if that is unknown. */
  #limitOf(shape: Shape, demands: readonly (readonly Demand[])[]): number | undefined {
    if (!isPlain(shape)) return undefined;
    const most = demands.map((each) => this.#claimsOf(each));
    return most.every(({ isExact }) => isExact) ? sumOf(most) : undefined;
  }

  /** Returns the devices of a node for each request, and for each of its alternatives. */
  #demandsOf(node: Node, shape: Shape): readonly Demand[] {
    const { suitable, supply } = this.#sources;
    const found = suitable.of(node, shape);
    return bodiesOf(shape).map((body, i) => ({
      count: Number(body.count ?? 1),
      devices: found[i]!.suitable.flatMap((id) => supply.of(id, body) ?? []),
    }));
  }

  /** Reports whether a selector fails: that ends the attempt of a pod, and the order of devices counts. */
  #fails(node: Node, shape: Shape): boolean {
    const found = this.#sources.suitable.of(node, shape);
    return found.some(({ refused }) => refused.some(({ check }) => check === "error"));
  }

  /** One device for each claim: they may be on any node, so all devices are packed at once. */
  #packAll(nodes: readonly Node[], demands: readonly (readonly Demand[])[]): Headroom | undefined {
    const firstNode = new Map<string, string>();
    const devices = demands.map(together).flatMap((demand, i) =>
      demand.devices.filter(({ id }) => {
        if (firstNode.has(id)) return false;
        firstNode.set(id, nodes[i]!.metadata.name);
        return true;
      }),
    );
    const { space } = this.#sources.supply;
    const isUnlimited = devices.some(
      (device) =>
        device.profit === Number.POSITIVE_INFINITY && this.#packing.best([device], space).profit > 0,
    );
    if (isUnlimited) return undefined;
    const { profit, isExact, chosen } = this.#packing.best(devices, space);
    const byNode = new Map<string, number>();
    for (const index of chosen) {
      const { id, profit } = devices[index]!;
      // Each device has been put into the map above.
      const node = firstNode.get(id)!;
      byNode.set(node, (byNode.get(node) ?? 0) + profit);
    }
    const inOrder = nodes.map(({ metadata: { name } }): [string, number] => [name, byNode.get(name) ?? 0]);
    return {
      count: profit,
      isLowerBound: !isExact,
      nodes: new Map(inOrder.filter(([, claims]) => claims > 0)),
    };
  }

  /**
   * Returns how many claims the devices of one node serve, if the requests do not compete. A request takes
   * different devices, so n claims use at most n shares of each.
   */
  #claimsOf(demands: readonly Demand[]): Most {
    let isExact = true;
    const packed = ({ devices }: Demand, claims: number): number => {
      const items = devices.map((device) => ({ ...device, profit: Math.min(device.profit, claims) }));
      const found = this.#packing.best(items, this.#sources.supply.space);
      isExact &&= found.isExact;
      return found.profit;
    };
    const isUnlimited = ({ count, devices }: Demand): boolean => {
      const unlimited = devices.filter(({ profit }) => profit === Number.POSITIVE_INFINITY);
      return packed({ count, devices: unlimited }, 1) >= count;
    };
    const limited = demands.filter((demand) => !isUnlimited(demand));
    if (limited.length === 0) return { claims: Number.POSITIVE_INFINITY, isExact: true };
    const serves = (claims: number): boolean =>
      limited.every((demand) => packed(demand, claims) >= demand.count * claims);
    const most = limited.map((demand) => Math.floor(packed(demand, manyShares) / demand.count));
    let [low, high] = [0, Math.min(...most)];
    if (serves(high)) return { claims: high, isExact };
    // Fewer claims fit wherever more do.
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (serves(middle)) low = middle;
      else high = middle;
    }
    return { claims: low, isExact };
  }
}

const sumOf = (most: readonly Most[]): number => most.reduce((sum, { claims }) => sum + claims, 0);

/** Returns the bodies of the requests and alternatives, in the order of `singleClaims`. */
const bodiesOf = ({ requests }: Shape): readonly (ExactRequest | DeviceSubRequest)[] =>
  requests.flatMap(({ exactly, firstAvailable = [] }): readonly (ExactRequest | DeviceSubRequest)[] =>
    exactly === undefined ? firstAvailable : [exactly],
  );

/** Reports whether each request is for a number of devices, which it takes. */
const isPlain = ({ requests }: Shape): boolean =>
  requests.every(
    ({ exactly }) =>
      exactly !== undefined &&
      exactly.allocationMode !== "All" &&
      exactly.adminAccess !== true &&
      Number(exactly.count ?? 1) > 0,
  );

const together = (demands: readonly Demand[]): Demand => ({
  count: 1,
  devices: demands.flatMap(({ devices }) => devices),
});

/** Names the things that two allocations may compete for. */
const claimedKeys = ({ devices }: Demand): Set<string> =>
  new Set(
    devices.flatMap(({ id, amounts, groups }) => [
      `device ${id}`,
      ...[...amounts.keys()].map((name) => `counter ${name}`),
      ...[...(groups?.keys() ?? [])].map((set) => `set ${set}`),
    ]),
  );

/** Reports whether none of them can take a device or a counter from another one. */
function areIndependent(demands: readonly Demand[]): boolean {
  const seen = new Set<string>();
  for (const keys of demands.map(claimedKeys)) {
    for (const key of keys) if (seen.has(key)) return false;
    for (const key of keys) seen.add(key);
  }
  return true;
}
