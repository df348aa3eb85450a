import type { Node } from "@dray/api/core/v1";
import type { Device, DeviceTaint, DeviceTaintRule, ResourceSlice } from "@dray/api/resource/v1";
import { type DeviceRecord, deviceId } from "../devices/device-record.ts";
import type { DeviceState } from "../devices/device-state.ts";
import { ShapeTable } from "../devices/shapes.ts";
import type { Features } from "../features/features.ts";
import type { Policies } from "../features/policies.ts";
import { reachesDevice, reachesSlice } from "../rules/node-selection.ts";
import { ruleTaints } from "../rules/taints.ts";
import type { Usage } from "./allocated-state.ts";
import { plainDevices } from "./independent-devices.ts";
import type { Published } from "./overdrawn.ts";
import { type Entry, hasCounters, hasGroups, isKnown, makePool, type Pool, poolKey } from "./pools.ts";

/** What one node can reach. */
export interface NodeView {
  /** In the order in which they are searched. */
  readonly pools: readonly Pool[];
  /** Devices of complete and valid pools, in order. */
  readonly devices: readonly DeviceRecord[];
  /** The pool of each of them. */
  readonly poolOf: readonly Pool[];
  readonly invalid: boolean;
}

export interface InventoryOptions {
  readonly features: Features;
  readonly policies: Policies;
  readonly usage: Usage;
  /** What a node can reach has changed. */
  readonly changed: (node: string) => void;
  /** The taints of any device may have changed. */
  readonly taintsChanged: () => void;
}

const noTaints: readonly DeviceTaint[] = [];
/** Different sets of slices of one pool that are remembered. */
const mostPoolViews = 16;

/** All ResourceSlices, by the node they are for. */
export class Inventory {
  readonly #options: InventoryOptions;
  readonly #shapes = new ShapeTable();
  readonly #entries = new Map<string, Entry>();
  readonly #rules = new Map<string, DeviceTaintRule>();
  #seen = 0;
  readonly #byNode = new Map<string, Set<Entry>>();
  /** Slices that are not for one node by name. */
  readonly #shared = new Set<Entry>();
  /** By `driver/pool`. */
  readonly #byPool = new Map<string, Set<Entry>>();
  /** Pools as some nodes see them, by `driver/pool`: with the slices that they were made of. */
  readonly #pools = new Map<string, { readonly current: readonly Entry[]; readonly pool: Pool }[]>();
  /** By node, through slices that name it. */
  readonly #views = new Map<string, NodeView>();
  #plainShared: readonly DeviceRecord[] | "mixed" | undefined;
  #sharedInOrder: readonly Entry[] | undefined;
  /** View of the last node that shares slices with others: most of those nodes reach the same slices. */
  #lastView: { readonly entries: readonly Entry[]; readonly view: NodeView } | undefined;

  constructor(options: InventoryOptions) {
    this.#options = options;
  }

  set(slice: ResourceSlice): void {
    const { name } = slice.metadata;
    const known = this.#entries.get(name);
    // The new records are made first: what both have in common keeps its shape and state.
    const entry: Entry = {
      slice,
      order: known?.order ?? this.#seen++,
      records: (slice.spec.devices ?? []).map((device) => this.#record(slice, device)),
      generation: BigInt(slice.spec.pool.generation),
    };
    if (known !== undefined) this.#unlink(known);
    this.#entries.set(name, entry);
    const node = this.#nodeOf(slice);
    if (node === undefined) this.#shared.add(entry);
    else link(this.#byNode, node, entry);
    link(this.#byPool, poolKey(slice), entry);
    this.#invalidate(slice);
  }

  delete(name: string): void {
    const known = this.#entries.get(name);
    if (known === undefined) return;
    this.#unlink(known);
    this.#entries.delete(name);
  }

  /** Whether that very state of a slice is the one that is known. */
  has(slice: ResourceSlice): boolean {
    return this.#entries.get(slice.metadata.name)?.slice === slice;
  }

  /** The device of that state as it is published now. */
  find(state: DeviceState): Published | undefined {
    const key = poolKeyOf(state);
    const inPool = (pool: Pool | undefined): Published | undefined => {
      const record = pool?.devices.find((device) => device.state === state);
      return record && { record, counters: pool?.counters };
    };
    for (const { pool } of this.#pools.get(key) ?? []) {
      const found = inPool(pool);
      if (found !== undefined) return found;
    }
    // No node has asked for it since its pool changed.
    const entries = [...(this.#byPool.get(key) ?? [])].filter(({ slice }) =>
      isKnown(slice, this.#options.features),
    );
    return entries.length === 0 ? undefined : inPool(this.#pool(key, entries));
  }

  /** The device of that name that a node can reach, as the newest slice has it. */
  device(node: Node, driver: string, pool: string, name: string): Device | undefined {
    let newest: Entry | undefined;
    let found: Device | undefined;
    for (const entry of this.#byPool.get(`${driver}/${pool}`) ?? noEntries) {
      if (newest !== undefined && entry.generation <= newest.generation) continue;
      const { slice } = entry;
      const device = slice.spec.devices?.find((one) => one.name === name);
      if (device === undefined || !reachesSlice(slice, node) || !reachesDevice(slice, device, node)) continue;
      newest = entry;
      found = device;
    }
    return found;
  }

  /** Nodes, named by slices, that have more or less when a device is taken or given back: counters are the pool's. */
  nodesOf(state: DeviceState): Iterable<string> {
    const entries = this.#byPool.get(poolKeyOf(state)) ?? noEntries;
    const nodes = [...entries].some(({ slice }) => hasCounters(slice))
      ? [...entries].map(({ slice }) => this.#nodeOf(slice) ?? "")
      : state.nodes;
    const named = new Set(nodes);
    // Slices that are not for one node by name are for "".
    named.delete("");
    return named;
  }

  setRule(rule: DeviceTaintRule, deleted: boolean): void {
    if (deleted) this.#rules.delete(rule.metadata.name);
    else this.#rules.set(rule.metadata.name, rule);
    for (const { records } of this.#entries.values()) {
      for (const record of records) record.taints = this.#taintsOf(record);
    }
    this.#options.taintsChanged();
  }

  /** Devices that nodes share, one by one (`plainDevices`), in the same array until that changes. */
  shared(): readonly DeviceRecord[] | undefined {
    this.#plainShared ??= plainDevices(this.#shared, this.#byPool, this.#options.policies) ?? "mixed";
    return this.#plainShared === "mixed" ? undefined : this.#plainShared;
  }

  /** What a node can reach through slices that name it. */
  localView(name: string): NodeView {
    let view = this.#views.get(name);
    if (view === undefined) {
      const entries = [...(this.#byNode.get(name) ?? [])].filter(({ slice }) =>
        isKnown(slice, this.#options.features),
      );
      view = this.#makeView(entries.sort(byOrder));
      this.#views.set(name, view);
    }
    return view;
  }

  /** What a node can reach. Throws AllocationError. */
  view(node: Node): NodeView {
    const { name } = node.metadata;
    if (this.#shared.size === 0) return this.localView(name);
    // What other nodes can reach too depends on labels, and may be much: it is not kept for each node.
    this.#sharedInOrder ??= [...this.#shared].sort(byOrder);
    const entries = [...[...(this.#byNode.get(name) ?? [])].sort(byOrder), ...this.#sharedInOrder];
    if (!this.#options.policies.sorted) entries.sort(byOrder);
    const reached = entries.filter(
      ({ slice }) => isKnown(slice, this.#options.features) && this.#reaches(slice, node),
    );
    const last = this.#lastView;
    if (last?.entries.length === reached.length && last.entries.every((entry, i) => entry === reached[i]))
      return last.view;
    const view = this.#makeView(reached);
    this.#lastView = { entries: reached, view };
    return view;
  }

  #record(slice: ResourceSlice, device: Device): DeviceRecord {
    const { driver, pool } = slice.spec;
    const { policies, usage } = this.#options;
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
      shape,
      state: usage.publish(driver, pool.name, device.name, this.#nodeOf(slice) ?? ""),
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

  #unlink(entry: Entry): void {
    const { slice, records } = entry;
    const node = this.#nodeOf(slice);
    if (node === undefined) this.#shared.delete(entry);
    else unlink(this.#byNode, node, entry);
    unlink(this.#byPool, poolKey(slice), entry);
    this.#invalidate(slice);
    for (const record of records) {
      this.#shapes.release(record.shape);
      this.#options.usage.forget(record.state, node ?? "");
    }
  }

  /** The one node that a slice is for; undefined: it may be for several. */
  #nodeOf(slice: ResourceSlice): string | undefined {
    const everywhere = this.#options.policies.countersEverywhere && hasCounters(slice);
    return everywhere ? undefined : slice.spec.nodeName || undefined;
  }

  /** Whether a pool is complete, and what is left of its counters, depends on all its slices. */
  #invalidate(slice: ResourceSlice): void {
    const key = poolKey(slice);
    this.#pools.delete(key);
    const node = this.#nodeOf(slice);
    this.#plainShared = undefined;
    this.#sharedInOrder = undefined;
    this.#lastView = undefined;
    if (node !== undefined) this.#forgetView(node);
    for (const entry of this.#byPool.get(key) ?? []) {
      const other = this.#nodeOf(entry.slice);
      if (other !== undefined && other !== node) this.#forgetView(other);
    }
  }

  #forgetView(node: string): void {
    this.#views.delete(node);
    this.#options.changed(node);
  }

  #makeView(entries: readonly Entry[]): NodeView {
    const relevant = new Map<string, Entry[]>();
    for (const entry of entries) {
      const key = poolKey(entry.slice);
      const entries = relevant.get(key);
      if (entries === undefined) relevant.set(key, [entry]);
      else entries.push(entry);
    }
    const pools: Pool[] = [];
    for (const [key, entries] of relevant) {
      const pool = this.#pool(key, entries);
      if (pool !== undefined) pools.push(pool);
    }
    pools.sort(
      (a, b) =>
        Number(a.binds) - Number(b.binds) || compareBytes(a.driver, b.driver) || compareBytes(a.name, b.name),
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
  #reaches(slice: ResourceSlice, node: Node): boolean {
    return (this.#options.policies.countersEverywhere && hasCounters(slice)) || reachesSlice(slice, node);
  }

  #pool(key: string, relevant: readonly Entry[]): Pool | undefined {
    const generation = relevant.map((entry) => entry.generation).reduce((a, b) => (a > b ? a : b));
    const current = relevant.filter((entry) => entry.generation === generation);
    if (this.#options.policies.sorted) {
      current.sort((a, b) => compareBytes(a.slice.metadata.name, b.slice.metadata.name));
    }
    const cached = this.#pools.get(key) ?? [];
    const known = cached.find(
      (other) =>
        other.current.length === current.length && other.current.every((entry, i) => entry === current[i]),
    );
    if (known !== undefined) return known.pool;
    // Counted by the slice that was given first.
    const first = relevant.find((entry) => entry.generation === generation)!;
    const count = Number(first.slice.spec.pool.resourceSliceCount);
    let all: readonly Entry[] = current;
    if (current.length !== count) {
      const entries = [...this.#byPool.get(key)!];
      if (entries.some((entry) => entry.generation > generation)) return undefined;
      all = entries.filter(
        ({ slice, generation: other }) =>
          other === generation && (this.#options.features.compatibilityGroups || !hasGroups(slice)),
      );
    }
    const pool = makePool(current, all, all.length === count, this.#options);
    if (cached.length >= mostPoolViews) cached.shift();
    cached.push({ current, pool });
    this.#pools.set(key, cached);
    return pool;
  }
}

/** The slice that was seen first comes first, whatever it has become since. */
const byOrder = (a: Entry, b: Entry): number => a.order - b.order;

const noEntries: ReadonlySet<Entry> = new Set();

const poolKeyOf = ({ id }: DeviceState): string => id.slice(0, id.lastIndexOf("/"));

function compareBytes(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function link(index: Map<string, Set<Entry>>, key: string, entry: Entry): void {
  const entries = index.get(key);
  if (entries === undefined) index.set(key, new Set([entry]));
  else entries.add(entry);
}

function unlink(index: Map<string, Set<Entry>>, key: string, entry: Entry): void {
  const entries = index.get(key);
  entries?.delete(entry);
  if (entries?.size === 0) index.delete(key);
}
