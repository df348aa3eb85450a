import type { Features } from "@dray/api";
import type { CounterSet, ResourceSliceSpec } from "@dray/api/resource/v1";
import { collect, FleetError, type Value } from "../source/value.ts";
import { checkCounterSet, checkDeviceSpec, checkSpec, driverName } from "./check.ts";
import { plainBehaviour } from "./device.ts";
import type { FleetDevice, FleetPool, PoolReach } from "./fleet.ts";
import { checkPool } from "./pool.ts";

/** A pool as the slices of a real cluster have it. */
export interface DumpedPool {
  readonly driver: string;
  /** Absent for a pool that belongs to no node. */
  readonly node?: string;
  readonly pool: FleetPool;
  /** The first of its slices. */
  readonly value: Value;
}

export interface Dumped {
  readonly pools: readonly DumpedPool[];
  readonly notes: readonly string[];
}

interface DumpedSlice {
  readonly value: Value;
  readonly spec: ResourceSliceSpec;
  /** One for each device. */
  readonly values: readonly Value[];
  readonly generation: number;
  readonly count: number;
  readonly name: string;
}

/**
 * The pools of ResourceSlices as `kubectl get resourceslices -o yaml` prints them, of any version of the API.
 * Fields that the server sets is dropped; of a pool only the newest generation counts (KEP-4381,
 * ResourceSliceSpec.pool).
 */
export function readDump(slices: readonly Value[], features: Features): Dumped {
  const notes: string[] = [];
  const read = collect(slices, (slice) => readSlice(slice, features));
  const groups = new Map<string, DumpedSlice[]>();
  for (const slice of read) {
    const key = JSON.stringify([slice.spec.driver, slice.spec.pool.name]);
    groups.set(key, [...(groups.get(key) ?? []), slice]);
  }
  const pools = collect([...groups.values()], (group) => readPool(group, notes));
  return { pools, notes };
}

function readSlice(value: Value, features: Features): DumpedSlice {
  const spec = value.at("spec");
  const tree = spec.object();
  const pool = spec.at("pool");
  pool.object();
  const name = value.at("metadata").isSet ? value.at("metadata").at("name").raw : "";
  const values: Value[] = [];
  const trees = spec.at("devices").list((device) => {
    values.push(device);
    return plainDevice(device);
  });
  // Judged in pieces, as what one slice may hold has changed between releases.
  const reach = Object.fromEntries(
    sliceFields.filter((key) => tree[key] !== undefined).map((key) => [key, tree[key]]),
  );
  const checked = checkSpec(
    {
      ...reach,
      driver: driverName(spec.at("driver")),
      pool: { name: pool.at("name").raw, resourceSliceCount: 1 },
    },
    features,
    spec,
    "spec",
  );
  const deviceReach = checked.perDeviceNodeSelection
    ? { perDeviceNodeSelection: true }
    : { nodeName: "node" };
  const checkedDevices = collect(trees, (device, i) =>
    checkDeviceSpec({ ...deviceReach, devices: [device] }, features, values[i]!),
  );
  const sharedCounters = spec.at("sharedCounters").list((set) => checkCounterSet(set.raw, features, set));
  return {
    value,
    spec: { ...checked, devices: checkedDevices, sharedCounters },
    values,
    generation: pool.at("generation").optional((one) => one.integer(0, Number.MAX_SAFE_INTEGER)) ?? 0,
    count: pool.at("resourceSliceCount").optional((one) => one.integer(1, Number.MAX_SAFE_INTEGER)) ?? 1,
    name: String(name),
  };
}

const sliceFields = [
  "nodeName",
  "nodeSelector",
  "allNodes",
  "perDeviceNodeSelection",
  "partitionTypeAttribute",
  "skipNodeOperations",
] as const;

/** The form of v1: before v1beta2 the properties lay in `basic`. The server stamps taints again. */
function plainDevice(value: Value): Record<string, unknown> {
  const { basic, ...own } = value.object();
  const device: Record<string, unknown> = {
    ...own,
    ...(basic !== undefined && basic !== null && value.at("basic").object()),
  };
  const { taints } = device;
  if (Array.isArray(taints))
    device["taints"] = taints.map((taint: unknown) => {
      if (typeof taint !== "object" || taint === null) return taint;
      const { timeAdded: _, ...rest } = taint as Record<string, unknown>;
      return rest;
    });
  return device;
}

function readPool(group: readonly DumpedSlice[], notes: string[]): DumpedPool {
  const newest = Math.max(...group.map(({ generation }) => generation));
  const slices = group
    .filter(({ generation }) => generation === newest)
    .sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  const [first] = slices as [DumpedSlice, ...DumpedSlice[]];
  const { driver, pool, nodeName, partitionTypeAttribute, skipNodeOperations } = first.spec;
  const what = `pool ${pool.name} of ${driver}`;
  const odd = slices.find(({ spec }) => reachKey(spec) !== reachKey(first.spec));
  if (odd !== undefined)
    throw new FleetError([
      odd.value.problem(
        `${what} has slices for different nodes: this one is for ${reachText(odd.spec)}, ResourceSlice ${first.name} for ${reachText(first.spec)}`,
      ),
    ]);
  if (slices.length !== first.count)
    notes.push(
      `${first.value.origin.file}: ${what} is incomplete: ${slices.length} of ${first.count} slices are given, and their devices are used`,
    );
  const devices = slices.flatMap(({ spec, values }) =>
    (spec.devices ?? []).map((device, i) => ({ device, value: values[i]! })),
  );
  const sharedCounters: CounterSet[] = slices.flatMap(({ spec }) => spec.sharedCounters ?? []);
  const own: FleetPool = {
    name: pool.name,
    devices: devices.map(({ device }): FleetDevice => ({ device, behaviour: plainBehaviour(driver) })),
    sharedCounters,
    ...(partitionTypeAttribute !== undefined && { partitionTypeAttribute }),
    ...(skipNodeOperations !== undefined && { skipNodeOperations }),
    ...(nodeName === undefined && { reach: reachOf(first.spec) }),
  };
  checkPool(own, (i) => devices[i]!.value, first.value);
  return { driver, pool: own, value: first.value, ...(nodeName !== undefined && { node: nodeName }) };
}

function reachOf({ nodeSelector, allNodes }: ResourceSliceSpec): PoolReach {
  if (nodeSelector !== undefined) return { nodeSelector };
  return allNodes === true ? { allNodes } : { perDeviceNodeSelection: true };
}

const reachKey = ({ nodeName, nodeSelector, allNodes, perDeviceNodeSelection }: ResourceSliceSpec): string =>
  JSON.stringify([nodeName, nodeSelector, allNodes, perDeviceNodeSelection]);

function reachText({ nodeName, allNodes, perDeviceNodeSelection }: ResourceSliceSpec): string {
  if (nodeName !== undefined) return `node ${nodeName}`;
  if (allNodes === true) return "all nodes";
  return perDeviceNodeSelection === true ? "the nodes of each device" : "a nodeSelector";
}
