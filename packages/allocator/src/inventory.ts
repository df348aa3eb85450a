import { matchesNodeSelector, NodeSelectorError } from "@dray/api";
import type { Node } from "@dray/api/core/v1";
import type { Device, ResourceSlice } from "@dray/api/resource/v1";
import type { Features } from "./allocator.ts";
import type { Policies } from "./policies.ts";

/** The whole attempt fails, whatever other nodes have. */
export class AllocationError extends Error {
  override readonly name = "AllocationError";
}

/** One device as a node can reach it. */
export interface Candidate {
  /** `driver/pool/device` */
  readonly id: string;
  readonly driver: string;
  readonly pool: string;
  readonly device: Device;
  readonly slice: ResourceSlice;
}

export interface Pool {
  readonly driver: string;
  readonly name: string;
  /** Slices of its generation are missing: it is being updated. */
  readonly incomplete: boolean;
  /** Why its slices contradict each other. */
  readonly invalid: string | undefined;
  readonly candidates: readonly Candidate[];
}

/** All ResourceSlices, by the node they are for. */
export class Inventory {
  readonly #features: Features;
  readonly #policies: Policies;
  readonly #slices = new Map<string, ResourceSlice>();
  /** When a slice was first seen, by name. */
  readonly #order = new Map<string, number>();
  #seen = 0;
  /** Names of slices by `spec.nodeName`; "" for those that say otherwise which nodes they are for. */
  readonly #byNode = new Map<string, Set<string>>();
  /** Names of slices by `driver/pool`. */
  readonly #byPool = new Map<string, Set<string>>();

  constructor(features: Features, policies: Policies) {
    this.#features = features;
    this.#policies = policies;
  }

  set(slice: ResourceSlice): void {
    const name = slice.metadata.name;
    const known = this.#slices.get(name);
    if (known !== undefined) this.#unlink(known);
    this.#slices.set(name, slice);
    if (known === undefined) this.#order.set(name, this.#seen++);
    link(this.#byNode, slice.spec.nodeName ?? "", name);
    link(this.#byPool, poolKey(slice), name);
  }

  delete(name: string): void {
    const known = this.#slices.get(name);
    if (known === undefined) return;
    this.#unlink(known);
    this.#slices.delete(name);
    this.#order.delete(name);
  }

  /** Whether that very state of a slice is the one that is known. */
  has(slice: ResourceSlice): boolean {
    return this.#slices.get(slice.metadata.name) === slice;
  }

  #unlink(slice: ResourceSlice): void {
    unlink(this.#byNode, slice.spec.nodeName ?? "", slice.metadata.name);
    unlink(this.#byPool, poolKey(slice), slice.metadata.name);
  }

  /** The pools that a node can reach, in the order in which they are searched. Throws AllocationError. */
  pools(node: Node): readonly Pool[] {
    const relevant = new Map<string, ResourceSlice[]>();
    for (const slice of this.#slicesFor(node)) {
      const key = poolKey(slice);
      const slices = relevant.get(key);
      if (slices === undefined) relevant.set(key, [slice]);
      else slices.push(slice);
    }
    const pools: { pool: Pool; last: boolean }[] = [];
    for (const [key, slices] of relevant) {
      const pool = this.#pool(key, slices);
      if (pool !== undefined) pools.push(pool);
    }
    pools.sort(
      (a, b) =>
        Number(a.last) - Number(b.last) ||
        compareBytes(a.pool.driver, b.pool.driver) ||
        compareBytes(a.pool.name, b.pool.name),
    );
    return pools.map(({ pool }) => pool);
  }

  #slicesFor(node: Node): ResourceSlice[] {
    const names = [...(this.#byNode.get(node.metadata.name) ?? []), ...(this.#byNode.get("") ?? [])];
    if (!this.#policies.sorted) names.sort((a, b) => this.#order.get(a)! - this.#order.get(b)!);
    const slices = names.map((name) => this.#slices.get(name)!);
    return slices.filter((slice) => this.#usable(slice) && this.#reaches(slice, node));
  }

  /** Slices of a feature that is off take no part, though they count for the completeness of their pool. */
  #usable(slice: ResourceSlice): boolean {
    if (this.#features.partitionableDevices) return true;
    return slice.spec.perDeviceNodeSelection !== true && (slice.spec.sharedCounters ?? []).length === 0;
  }

  #reaches(slice: ResourceSlice, node: Node): boolean {
    const { nodeName, allNodes, nodeSelector, perDeviceNodeSelection, devices } = slice.spec;
    if (nodeName !== undefined && nodeName !== "") return nodeName === node.metadata.name;
    if (allNodes === true) return true;
    if (nodeSelector !== undefined) {
      return fits(nodeSelector, node, `failed to perform node selection for slice ${slice.metadata.name}`);
    }
    if (perDeviceNodeSelection !== true) return false;
    return (devices ?? []).some((device) => reachesDevice(slice, device, node));
  }

  #pool(key: string, relevant: readonly ResourceSlice[]): { pool: Pool; last: boolean } | undefined {
    const generation = relevant.map(generationOf).reduce((a, b) => (a > b ? a : b));
    const current = relevant.filter((slice) => generationOf(slice) === generation);
    let complete = current.length === Number(current[0]!.spec.pool.resourceSliceCount);
    if (!complete) {
      const all = [...this.#byPool.get(key)!].map((name) => this.#slices.get(name)!);
      if (all.some((slice) => generationOf(slice) > generation)) return undefined;
      const same = all.filter((slice) => generationOf(slice) === generation);
      complete = same.length === Number(current[0]!.spec.pool.resourceSliceCount);
    }
    if (this.#policies.sorted) current.sort((a, b) => compareBytes(a.metadata.name, b.metadata.name));
    const { driver, pool } = current[0]!.spec;
    const candidates: Candidate[] = [];
    const seen = new Set<string>();
    let invalid: string | undefined;
    let last = false;
    for (const slice of current) {
      for (const device of slice.spec.devices ?? []) {
        if (seen.has(device.name)) invalid ??= `duplicate device name ${device.name}`;
        seen.add(device.name);
        if (this.#policies.sorted && (device.bindingConditions ?? []).length > 0) last = true;
        candidates.push({
          id: deviceId(driver, pool.name, device.name),
          driver,
          pool: pool.name,
          device,
          slice,
        });
      }
    }
    return {
      pool: {
        driver,
        name: pool.name,
        incomplete: !complete,
        invalid: complete ? invalid : undefined,
        candidates,
      },
      last,
    };
  }
}

/** Whether a slice's device is for a node, where every device says so for itself. Throws AllocationError. */
export function reachesDevice(slice: ResourceSlice, device: Device, node: Node): boolean {
  if (slice.spec.perDeviceNodeSelection !== true) return true;
  if (device.nodeName !== undefined && device.nodeName !== "") return device.nodeName === node.metadata.name;
  if (device.allNodes === true) return true;
  if (device.nodeSelector === undefined) return false;
  const where = `failed to perform node selection for device ${device.name} in slice ${slice.metadata.name}`;
  return fits(device.nodeSelector, node, where);
}

function fits(selector: Parameters<typeof matchesNodeSelector>[0], node: Node, where: string): boolean {
  try {
    return matchesNodeSelector(selector, node);
  } catch (error) {
    if (!(error instanceof NodeSelectorError)) throw error;
    const text = `gather pool information: ${where}: failed to parse node selector: ${error.message}`;
    throw new AllocationError(text, { cause: error });
  }
}

/** `driver/pool/device`: neither driver nor device has a slash. */
export function deviceId(driver: string, pool: string, device: string): string {
  return `${driver}/${pool}/${device}`;
}

const poolKey = (slice: ResourceSlice): string => `${slice.spec.driver}/${slice.spec.pool.name}`;
const generationOf = (slice: ResourceSlice): number => Number(slice.spec.pool.generation);

function compareBytes(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function link(index: Map<string, Set<string>>, key: string, name: string): void {
  const names = index.get(key);
  if (names === undefined) index.set(key, new Set([name]));
  else names.add(name);
}

function unlink(index: Map<string, Set<string>>, key: string, name: string): void {
  const names = index.get(key);
  names?.delete(name);
  if (names?.size === 0) index.delete(key);
}
