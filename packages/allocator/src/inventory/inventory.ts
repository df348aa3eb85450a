import type { Node } from "@dray/api/core/v1";
import type { Device, DeviceTaint, DeviceTaintRule, ResourceSlice } from "@dray/api/resource/v1";
import { type DeviceRecord, deviceId } from "../devices/device-record.ts";
import type { DeviceState } from "../devices/device-state.ts";
import { isDeviceForNode, isSliceForNode, NodeSelection, nodesOfSlice } from "../devices/node-selection.ts";
import { ShapeTable } from "../devices/shapes.ts";
import type { Features } from "../features/features.ts";
import type { Policies } from "../features/policies.ts";
import { ruleTaints } from "../rules/taints.ts";
import type { AllocatedState } from "./allocated-state.ts";
import { independentDevices } from "./independent-devices.ts";
import type { PublishedDevice } from "./overdrawn.ts";
import { makePool, type Pool } from "./pools.ts";
import {
  hasSharedCounters,
  isEnabled,
  poolKey,
  type SliceRecord,
  usesCompatibilityGroups,
} from "./slices.ts";

/** The pools and devices of one node. */
export interface NodeView {
  /** In the order in which they are searched. */
  readonly pools: readonly Pool[];
  /** Devices of complete and valid pools, in order. */
  readonly devices: readonly DeviceRecord[];
  /** For each device its pool. */
  readonly poolOf: readonly Pool[];
  /** A pool is invalid. */
  readonly invalid: boolean;
}

export interface InventoryOptions {
  readonly features: Features;
  readonly policies: Policies;
  readonly allocated: AllocatedState;
  /** Called when the view of a node changes. */
  readonly changed: (node: string) => void;
  /** Called when the taints of any device may have changed. */
  readonly taintsChanged: () => void;
}

const noTaints: readonly DeviceTaint[] = [];
const noSlices: ReadonlySet<SliceRecord> = new Set();
/** Maximum number of cached views of one pool; nodes that see the same slices share one. */
const maxPoolViews = 16;

/** All ResourceSlices, indexed by node and by pool. */
export class Inventory {
  readonly #options: InventoryOptions;
  readonly #shapes = new ShapeTable();
  readonly #slices = new Map<string, SliceRecord>();
  readonly #rules = new Map<string, DeviceTaintRule>();
  #nextOrder = 0;
  /** Slices that name a single node, by that node. */
  readonly #byNode = new Map<string, Set<SliceRecord>>();
  /** The other slices. */
  readonly #multiNode = new Set<SliceRecord>();
  readonly #byPool = new Map<string, Set<SliceRecord>>();
  /** Views of each pool, with their slices. */
  readonly #pools = new Map<string, { readonly current: readonly SliceRecord[]; readonly pool: Pool }[]>();
  /** By node, of slices that name it. */
  readonly #localViews = new Map<string, NodeView>();
  #independent: readonly DeviceRecord[] | "dependent" | undefined;
  #multiNodeInOrder: readonly SliceRecord[] | undefined;
  /** The last view that contained multi-node slices: most nodes see the same ones. */
  #lastView: { readonly slices: readonly SliceRecord[]; readonly view: NodeView } | undefined;

  constructor(options: InventoryOptions) {
    this.#options = options;
  }

  set(slice: ResourceSlice): void {
    const { name } = slice.metadata;
    const old = this.#slices.get(name);
    // Before the old records are removed: devices in both keep their shape and state.
    const record: SliceRecord = {
      slice,
      nodes: nodesOfSlice(slice),
      records: (slice.spec.devices ?? []).map((device) => this.#record(slice, device)),
      order: old?.order ?? this.#nextOrder++,
      generation: BigInt(slice.spec.pool.generation),
    };
    if (old !== undefined) this.#unlink(old);
    this.#slices.set(name, record);
    const node = this.#nodeOf(slice);
    if (node === undefined) this.#multiNode.add(record);
    else addTo(this.#byNode, node, record);
    addTo(this.#byPool, poolKey(slice), record);
    this.#invalidate(slice);
  }

  delete(name: string): void {
    const old = this.#slices.get(name);
    if (old === undefined) return;
    this.#unlink(old);
    this.#slices.delete(name);
  }

  /** Reports whether this object is the current state of its slice. */
  has(slice: ResourceSlice): boolean {
    return this.#slices.get(slice.metadata.name)?.slice === slice;
  }

  /** Returns the device as it is published now; undefined if it is not. */
  find(state: DeviceState): PublishedDevice | undefined {
    const key = poolKeyOf(state);
    const inPool = (pool: Pool | undefined): PublishedDevice | undefined => {
      const record = pool?.devices.find((device) => device.state === state);
      return record && { record, counters: pool?.counters };
    };
    for (const { pool } of this.#pools.get(key) ?? []) {
      const found = inPool(pool);
      if (found !== undefined) return found;
    }
    // The pool has changed, and no node has been searched since.
    const slices = [...(this.#byPool.get(key) ?? [])].filter(({ slice }) =>
      isEnabled(slice, this.#options.features),
    );
    return slices.length === 0 ? undefined : inPool(this.#pool(key, slices));
  }

  /**
   * Returns a device that is for the node, from the newest generation of its pool. Throws AllocationError.
   */
  device(node: Node, driver: string, pool: string, name: string): Device | undefined {
    let newest: SliceRecord | undefined;
    let found: Device | undefined;
    for (const slice of this.#byPool.get(`${driver}/${pool}`) ?? noSlices) {
      if (newest !== undefined && slice.generation <= newest.generation) continue;
      const record = slice.records.find(({ device }) => device.name === name);
      if (record === undefined || !isSliceForNode(slice, node) || !isDeviceForNode(record, node)) continue;
      newest = slice;
      found = record.device;
    }
    return found;
  }

  /**
   * Returns the named nodes on which an allocation of the device changes the remaining devices: with shared
   * counters all nodes of the pool.
   */
  nodesOf(state: DeviceState): Iterable<string> {
    const slices = this.#byPool.get(poolKeyOf(state)) ?? noSlices;
    const nodes = [...slices].some(({ slice }) => hasSharedCounters(slice))
      ? [...slices].map(({ slice }) => this.#nodeOf(slice) ?? "")
      : state.nodes;
    const named = new Set(nodes);
    // Slices without a single node.
    named.delete("");
    return named;
  }

  setRule(rule: DeviceTaintRule, deleted: boolean): void {
    if (deleted) this.#rules.delete(rule.metadata.name);
    else this.#rules.set(rule.metadata.name, rule);
    for (const { records } of this.#slices.values()) {
      for (const record of records) record.taints = this.#taintsOf(record);
    }
    this.#options.taintsChanged();
  }

  /** Devices of multi-node slices (`independentDevices`). Returns the same array until they change. */
  independentDevices(): readonly DeviceRecord[] | undefined {
    this.#independent ??=
      independentDevices(this.#multiNode, this.#byPool, this.#options.policies) ?? "dependent";
    return this.#independent === "dependent" ? undefined : this.#independent;
  }

  /** Returns the devices in slices that name the node. */
  localView(name: string): NodeView {
    let view = this.#localViews.get(name);
    if (view === undefined) {
      const slices = [...(this.#byNode.get(name) ?? [])].filter(({ slice }) =>
        isEnabled(slice, this.#options.features),
      );
      view = this.#makeView(slices.sort(byOrder));
      this.#localViews.set(name, view);
    }
    return view;
  }

  /** Returns the devices of all slices for the node. Throws AllocationError. */
  view(node: Node): NodeView {
    const { name } = node.metadata;
    if (this.#multiNode.size === 0) return this.localView(name);
    // Not cached per node: multi-node slices depend on labels, and may be many.
    this.#multiNodeInOrder ??= [...this.#multiNode].sort(byOrder);
    const slices = [...[...(this.#byNode.get(name) ?? [])].sort(byOrder), ...this.#multiNodeInOrder];
    if (!this.#options.policies.sorted) slices.sort(byOrder);
    const own = slices.filter(
      (record) => isEnabled(record.slice, this.#options.features) && this.#isForNode(record, node),
    );
    const last = this.#lastView;
    if (last?.slices.length === own.length && last.slices.every((record, i) => record === own[i]))
      return last.view;
    const view = this.#makeView(own);
    this.#lastView = { slices: own, view };
    return view;
  }

  #record(slice: ResourceSlice, device: Device): DeviceRecord {
    const { driver, pool } = slice.spec;
    const { policies, allocated } = this.#options;
    const shape = this.#shapes.acquire({
      driver,
      ...(device.attributes === undefined ? {} : { attributes: device.attributes }),
      ...(device.capacity === undefined ? {} : { capacity: device.capacity }),
      allowMultipleAllocations: policies.showsMultipleAllocations && device.allowMultipleAllocations === true,
    });
    const record: DeviceRecord = {
      id: deviceId(driver, pool.name, device.name),
      driver,
      pool: pool.name,
      device,
      slice,
      nodes: slice.spec.perDeviceNodeSelection === true ? new NodeSelection(device) : undefined,
      shape,
      state: allocated.publish(driver, pool.name, device.name, this.#nodeOf(slice) ?? ""),
      taints: noTaints,
    };
    record.taints = this.#taintsOf(record);
    return record;
  }

  #taintsOf(record: DeviceRecord): readonly DeviceTaint[] {
    if (!this.#options.features.deviceTaints) return noTaints;
    const own = record.device.taints ?? noTaints;
    return this.#rules.size === 0 ? own : [...own, ...ruleTaints(record, this.#rules.values())];
  }

  #unlink(old: SliceRecord): void {
    const { slice, records } = old;
    const node = this.#nodeOf(slice);
    if (node === undefined) this.#multiNode.delete(old);
    else removeFrom(this.#byNode, node, old);
    removeFrom(this.#byPool, poolKey(slice), old);
    this.#invalidate(slice);
    for (const record of records) {
      this.#shapes.release(record.shape);
      this.#options.allocated.unpublish(record.state, node ?? "");
    }
  }

  /** Returns the single node of a slice; undefined if it may be for several. */
  #nodeOf(slice: ResourceSlice): string | undefined {
    const isForAll = this.#options.policies.countersForAllNodes && hasSharedCounters(slice);
    return isForAll ? undefined : slice.spec.nodeName || undefined;
  }

  /** Every slice counts for the completeness and the counters of its whole pool. */
  #invalidate(slice: ResourceSlice): void {
    const key = poolKey(slice);
    this.#pools.delete(key);
    const node = this.#nodeOf(slice);
    this.#independent = undefined;
    this.#multiNodeInOrder = undefined;
    this.#lastView = undefined;
    if (node !== undefined) this.#forgetView(node);
    for (const record of this.#byPool.get(key) ?? []) {
      const other = this.#nodeOf(record.slice);
      if (other !== undefined && other !== node) this.#forgetView(other);
    }
  }

  #forgetView(node: string): void {
    this.#localViews.delete(node);
    this.#options.changed(node);
  }

  #makeView(slices: readonly SliceRecord[]): NodeView {
    const byPool = new Map<string, SliceRecord[]>();
    for (const record of slices) {
      const key = poolKey(record.slice);
      const list = byPool.get(key);
      if (list === undefined) byPool.set(key, [record]);
      else list.push(record);
    }
    const pools: Pool[] = [];
    for (const [key, list] of byPool) {
      const pool = this.#pool(key, list);
      if (pool !== undefined) pools.push(pool);
    }
    pools.sort(
      (a, b) =>
        Number(a.hasBindingConditions) - Number(b.hasBindingConditions) ||
        compareText(a.driver, b.driver) ||
        compareText(a.name, b.name),
    );
    const usable = pools.filter((pool) => !pool.incomplete && pool.invalid === undefined);
    return {
      pools,
      devices: usable.length === 1 ? usable[0]!.devices : usable.flatMap(({ devices }) => devices),
      poolOf: usable.flatMap((pool) => new Array<Pool>(pool.devices.length).fill(pool)),
      invalid: pools.some(({ invalid }) => invalid !== undefined),
    };
  }

  /** Throws AllocationError. */
  #isForNode(record: SliceRecord, node: Node): boolean {
    if (this.#options.policies.countersForAllNodes && hasSharedCounters(record.slice)) return true;
    return isSliceForNode(record, node);
  }

  /** Returns a pool from some of its slices; undefined if a newer generation exists elsewhere. */
  #pool(key: string, slices: readonly SliceRecord[]): Pool | undefined {
    const generation = slices.map((record) => record.generation).reduce((a, b) => (a > b ? a : b));
    const current = slices.filter((record) => record.generation === generation);
    // As upstream: the slice that was seen first decides the number of slices.
    const count = Number(current[0]!.slice.spec.pool.resourceSliceCount);
    if (this.#options.policies.sorted) {
      current.sort((a, b) => compareText(a.slice.metadata.name, b.slice.metadata.name));
    }
    const cached = this.#pools.get(key) ?? [];
    const same = cached.find(
      (other) =>
        other.current.length === current.length && other.current.every((record, i) => record === current[i]),
    );
    if (same !== undefined) return same.pool;
    let all: readonly SliceRecord[] = current;
    if (current.length !== count) {
      // `slices` are of this pool.
      const records = [...this.#byPool.get(key)!];
      if (records.some((record) => record.generation > generation)) return undefined;
      all = records.filter(
        ({ slice, generation: other }) =>
          other === generation &&
          (this.#options.features.compatibilityGroups || !usesCompatibilityGroups(slice)),
      );
    }
    const pool = makePool(current, all, all.length === count, this.#options);
    if (cached.length >= maxPoolViews) cached.shift();
    cached.push({ current, pool });
    this.#pools.set(key, cached);
    return pool;
  }
}

/** A slice keeps its place when it is updated. */
const byOrder = (a: SliceRecord, b: SliceRecord): number => a.order - b.order;

const poolKeyOf = ({ id }: DeviceState): string => id.slice(0, id.lastIndexOf("/"));

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function addTo(index: Map<string, Set<SliceRecord>>, key: string, record: SliceRecord): void {
  const records = index.get(key);
  if (records === undefined) index.set(key, new Set([record]));
  else records.add(record);
}

function removeFrom(index: Map<string, Set<SliceRecord>>, key: string, record: SliceRecord): void {
  const records = index.get(key);
  records?.delete(record);
  if (records?.size === 0) index.delete(key);
}
