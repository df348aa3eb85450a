import { canonicalJSON } from "@dray/api";
import type { Device, DeviceAttribute, ResourceSlice, ResourceSliceSpec } from "@dray/api/resource/v1";
import type { Pool } from "../types/driver.ts";
import { PoolError } from "../types/errors.ts";

/** Limits of ResourceSlice.spec (resource.k8s.io/v1). */
const sliceLimits = { devices: 128, devicesWithMore: 64, counterSets: 8 } as const;

/** Content of one slice of a pool; generation and count are added when it is written. */
export type SliceContent = Omit<ResourceSliceSpec, "driver" | "nodeName" | "pool">;

/** Whose slices they are: a node's, or those of devices that several nodes reach. */
export type SliceScope =
  | { readonly nodeName: string }
  | {
      /** None: the slices stay when the driver is uninstalled, until they are deleted. */
      readonly owner?: SliceOwner;
    };

/** An object without a namespace that slices are deleted with. */
export interface SliceOwner {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
}

/**
 * The slices of a pool. Counter sets and devices are never in the same one (exclusive since 1.35); devices
 * keep their order. A pool without devices is one empty slice. Throws a PoolError for what no server would
 * accept together.
 */
export function divide(pool: Pool, scope: SliceScope): SliceContent[] {
  check(pool);
  const shared = { ...placement(pool, scope), ...features(pool) };
  const { sharedCounters = [] } = pool;
  const slices: SliceContent[] = [];
  for (let i = 0; i < sharedCounters.length; i += sliceLimits.counterSets) {
    slices.push({ sharedCounters: sharedCounters.slice(i, i + sliceLimits.counterSets) });
  }
  let devices: Device[] = [];
  let limit: number = sliceLimits.devices;
  for (const device of pool.devices) {
    const deviceLimit = hasMore(device) ? sliceLimits.devicesWithMore : limit;
    if (devices.length >= deviceLimit) {
      slices.push({ devices });
      devices = [];
      limit = sliceLimits.devices;
    }
    devices.push(device);
    if (hasMore(device)) limit = sliceLimits.devicesWithMore;
  }
  if (devices.length > 0 || slices.length === 0) slices.push({ devices });
  return slices.map((slice) => ({ ...shared, ...slice }));
}

function features({ partitionTypeAttribute, skipNodeOperations }: Pool): SliceContent {
  return {
    ...(partitionTypeAttribute === undefined ? {} : { partitionTypeAttribute }),
    ...(skipNodeOperations === undefined ? {} : { skipNodeOperations: [...skipNodeOperations] }),
  };
}

/** ResourceSlice.spec has exactly one of nodeName, nodeSelector, allNodes and perDeviceNodeSelection. */
function placement({ nodeSelector, allNodes, devices }: Pool, scope: SliceScope): SliceContent {
  const own = (device: Device): string[] =>
    (["nodeName", "nodeSelector", "allNodes"] as const).filter((field) => device[field] !== undefined);
  const placed = devices.find((device) => own(device).length > 0);
  const found = [
    ...(nodeSelector === undefined ? [] : ["nodeSelector"]),
    ...(allNodes === undefined ? [] : ["allNodes"]),
    ...(placed === undefined ? [] : [`${own(placed)[0]} of device ${placed.name}`]),
  ];
  if ("nodeName" in scope) {
    if (found.length === 0) return {};
    throw new PoolError(
      `${found[0]}: the pools of runDriver are those of node ${scope.nodeName}; publish what other nodes reach with publishPools`,
    );
  }
  if (found.length !== 1) {
    const what = found.length === 0 ? "there is nothing" : `there are ${found.join(" and ")}`;
    throw new PoolError(
      `exactly one of nodeSelector, allNodes: true, and a nodeName, nodeSelector or allNodes in each device must say which nodes reach the pool; ${what}`,
    );
  }
  if (nodeSelector !== undefined) return { nodeSelector };
  if (allNodes !== undefined) return { allNodes };
  const wrong = devices.find((device) => own(device).length !== 1);
  if (placed !== undefined && wrong !== undefined) {
    throw new PoolError(
      `device ${wrong.name} must have exactly one of nodeName, nodeSelector and allNodes, since device ${placed.name} has one; it has ${own(wrong).join(" and ") || "none"}`,
    );
  }
  return { perDeviceNodeSelection: true };
}

/** Devices with taints, counters or list attributes: half as many fit in a slice. */
function hasMore(device: Device): boolean {
  return (
    (device.taints?.length ?? 0) > 0 ||
    (device.consumesCounters?.length ?? 0) > 0 ||
    Object.values(device.attributes ?? {}).some(isList)
  );
}

function isList({ ints, bools, strings, versions }: DeviceAttribute): boolean {
  return (ints ?? bools ?? strings ?? versions) !== undefined;
}

function check(pool: Pool): void {
  const duplicate = (names: readonly string[]) => names.find((name, i) => names.indexOf(name) < i);
  const device = duplicate(pool.devices.map(({ name }) => name));
  if (device !== undefined) throw new PoolError(`device ${JSON.stringify(device)} is in the pool twice`);
  const sets = new Map((pool.sharedCounters ?? []).map(({ name, counters }) => [name, counters ?? {}]));
  const set = duplicate((pool.sharedCounters ?? []).map(({ name }) => name));
  if (set !== undefined) throw new PoolError(`counter set ${JSON.stringify(set)} is in the pool twice`);
  for (const { name, consumesCounters = [] } of pool.devices) {
    for (const { counterSet, counters = {} } of consumesCounters) {
      const known = sets.get(counterSet);
      if (known === undefined) {
        throw new PoolError(
          `device ${name} consumes from ${counterSet}, which is no counter set of the pool`,
        );
      }
      for (const counter of Object.keys(counters)) {
        if (!Object.hasOwn(known, counter)) {
          throw new PoolError(`device ${name} consumes ${counter}, which is no counter of set ${counterSet}`);
        }
      }
    }
  }
}

/** Writes that publish a pool as wanted, in order. */
export interface PoolPlan {
  readonly deletes: readonly ResourceSlice[];
  readonly updates: readonly { readonly slice: ResourceSlice; readonly spec: ResourceSliceSpec }[];
  readonly creates: readonly { readonly generateName: string; readonly spec: ResourceSliceSpec }[];
}

export interface PlanInput {
  readonly driver: string;
  readonly scope: SliceScope;
  readonly pool: string;
  /** See `Pool`. */
  readonly generation?: number | undefined;
  /** All slices of this driver, scope and pool that exist. */
  readonly existing: readonly ResourceSlice[];
  readonly wanted: readonly SliceContent[];
  /** True if `actual` is what the server makes of `wanted`. */
  readonly same: (wanted: SliceContent, actual: ResourceSliceSpec) => boolean;
}

/**
 * Compares. Readers of a pool take its highest generation, and that only when it has as many slices as each
 * of them says: so a change that touches one existing slice keeps the generation, any other raises it in all
 * slices.
 */
export function planPool(input: PlanInput): PoolPlan {
  const { driver, scope, pool, existing, wanted, same } = input;
  const generation = existing.reduce(
    (highest, { spec }) => Math.max(highest, Number(spec.pool.generation)),
    0,
  );
  const current = existing.filter(({ spec }) => Number(spec.pool.generation) === generation);
  const prefixes = wanted.map((_, i) => namePrefix(driver, scope, i, wanted.length));
  const matched = match(wanted, prefixes, current);

  const creating = matched.includes(undefined);
  const changed = wanted.filter((content, i) => {
    const slice = matched[i];
    return slice !== undefined && !(same(content, slice.spec) && countOf(slice) === wanted.length);
  });
  const extra = current.filter((slice) => !matched.includes(slice));
  const minGeneration = input.generation ?? 0;
  const keep = !creating && extra.length === 0 && changed.length <= 1 && minGeneration <= generation;
  const next = keep ? generation : Math.max(generation + 1, minGeneration);

  const updates: PoolPlan["updates"][number][] = [];
  const creates: PoolPlan["creates"][number][] = [];
  wanted.forEach((content, i) => {
    const slice = matched[i];
    const spec: ResourceSliceSpec = {
      driver,
      ...("nodeName" in scope ? { nodeName: scope.nodeName } : {}),
      pool: { name: pool, generation: next, resourceSliceCount: wanted.length },
      ...keepTimes(content, slice?.spec),
    };
    if (slice === undefined) creates.push({ generateName: prefixes[i]!, spec });
    else if (!keep || changed.includes(content)) updates.push({ slice, spec });
  });
  return { deletes: existing.filter((slice) => !matched.includes(slice)), updates, creates };
}

/**
 * Returns the slices of a new pool as a driver publishes them. Throws a PoolError for a pool that servers
 * would refuse.
 */
export function poolSlices(
  driver: string,
  pool: Pool & { readonly name: string },
  scope: SliceScope,
): PoolPlan["creates"] {
  const wanted = divide(pool, scope);
  return planPool({ driver, scope, pool: pool.name, existing: [], wanted, same: () => false }).creates;
}

function countOf(slice: ResourceSlice): number {
  return Number(slice.spec.pool.resourceSliceCount);
}

/**
 * Slices are allocated from in the order of their names, so they begin with an index. The only slice of a
 * node's pool has the name that the tutorials use.
 * Upstream: k8s.io/dynamic-resource-allocation/resourceslice, 0.36, and until 0.35
 */
function namePrefix(driver: string, scope: SliceScope, index: number, count: number): string {
  const owner = "nodeName" in scope ? scope.nodeName : scope.owner?.name;
  const of = owner === undefined ? [] : [owner];
  const isOnly = count === 1 && "nodeName" in scope;
  const parts = isOnly ? [...of, driver] : [index.toString(16).padStart(5, "0"), driver, ...of];
  return `${parts.join("-")}-`;
}

/**
 * For each wanted slice the existing one that is to become it: the one with the same names, else any left
 * over.
 */
function match(
  wanted: readonly SliceContent[],
  prefixes: readonly string[],
  current: readonly ResourceSlice[],
): (ResourceSlice | undefined)[] {
  const left = [...current].sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  const take = (fits: (slice: ResourceSlice) => boolean): ResourceSlice | undefined => {
    const place = left.findIndex(fits);
    return place < 0 ? undefined : left.splice(place, 1)[0];
  };
  const wellNamed = (slice: ResourceSlice, i: number): boolean =>
    wanted.length === 1 || slice.metadata.name.startsWith(prefixes[i]!.slice(0, 6));
  const matched = wanted.map((content, i) =>
    take((slice) => wellNamed(slice, i) && namesIn(slice.spec) === namesIn(content)),
  );
  return matched.map((slice, i) => slice ?? take((other) => wellNamed(other, i)));
}

function namesIn({ devices = [], sharedCounters = [] }: SliceContent): string {
  return JSON.stringify([devices.map(({ name }) => name), sharedCounters.map(({ name }) => name)]);
}

/** The server sets the time of taints without one; a driver that sets none keeps that. */
export function keepTimes(content: SliceContent, existing: SliceContent | undefined): SliceContent {
  if (!content.devices?.some(({ taints = [] }) => taints.some(({ timeAdded }) => timeAdded === undefined))) {
    return content;
  }
  const old = new Map((existing?.devices ?? []).map((device) => [device.name, device.taints ?? []]));
  return {
    ...content,
    devices: content.devices.map((device) =>
      device.taints === undefined
        ? device
        : {
            ...device,
            taints: device.taints.map((taint) => {
              const { key, value, effect } = taint;
              const before = old
                .get(device.name)
                ?.find((one) => one.key === key && one.value === value && one.effect === effect);
              return taint.timeAdded === undefined && before?.timeAdded !== undefined
                ? { ...taint, timeAdded: before.timeAdded }
                : taint;
            }),
          },
    ),
  };
}

/** The content of a slice as text that is equal for equal content. */
export function contentKey(content: SliceContent): string {
  const { devices = [], sharedCounters = [], nodeSelector, allNodes, perDeviceNodeSelection } = content;
  const { partitionTypeAttribute, skipNodeOperations = [] } = content;
  return canonicalJSON({
    devices,
    sharedCounters,
    partitionTypeAttribute,
    skipNodeOperations,
    nodeSelector,
    // The server may write false where nothing was sent.
    allNodes: allNodes || undefined,
    perDeviceNodeSelection: perDeviceNodeSelection || undefined,
  });
}

/** Fields that an API server drops from slices while a feature gate is off. */
const gated: readonly (readonly [gate: string, used: (content: SliceContent) => number])[] = [
  ["DRADeviceTaints", (c) => count(c, (d) => d.taints?.length)],
  [
    "DRAPartitionableDevices",
    (c) =>
      (c.sharedCounters?.length ?? 0) +
      (c.perDeviceNodeSelection ? 1 : 0) +
      count(c, (d) => d.consumesCounters?.length),
  ],
  [
    "DRADeviceBindingConditions",
    (c) => count(c, (d) => (d.bindingConditions?.length ?? 0) + (d.bindsToNode ? 1 : 0)),
  ],
  [
    "DRAConsumableCapacity",
    (c) =>
      count(
        c,
        (d) =>
          (d.allowMultipleAllocations ? 1 : 0) +
          Object.values(d.capacity ?? {}).filter(({ requestPolicy }) => requestPolicy).length,
      ),
  ],
  [
    "DRANodeAllocatableResources",
    // The field of the one or the other release: a driver may send both.
    (c) =>
      Math.min(
        1,
        count(
          c,
          (d) =>
            Object.keys(d.nodeAllocatableResources ?? {}).length +
            Object.keys(d.nodeAllocatableResourceMappings ?? {}).length,
        ),
      ),
  ],
  ["DRAListTypeAttributes", (c) => count(c, (d) => Object.values(d.attributes ?? {}).filter(isList).length)],
  ["DRAPartitionableDevicesType", (c) => (c.partitionTypeAttribute === undefined ? 0 : 1)],
  ["DRAOptionalNodeOperations", (c) => c.skipNodeOperations?.length ?? 0],
];

function count({ devices = [] }: SliceContent, of: (device: Device) => number | undefined): number {
  return devices.reduce((sum, device) => sum + (of(device) ?? 0), 0);
}

/** The feature gates whose fields were sent and did not come back. */
export function droppedBy(sent: SliceContent, stored: SliceContent): string[] {
  return gated.filter(([, used]) => used(stored) < used(sent)).map(([gate]) => gate);
}
