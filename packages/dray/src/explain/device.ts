import { Quantity } from "@dray/api";
import type { Device } from "@dray/api/resource/v1";
import { isRepelling, taintText } from "../inventory/devices.ts";
import type { Inventory } from "../inventory/inventory.ts";
import { shapeKey } from "../inventory/shapes.ts";
import { allocatedHolders, type JudgedDevice } from "../inventory/units.ts";
import { names } from "../text/words.ts";
import { countsOf, deviceRow } from "../top/rows.ts";
import type { Explained, Fact, Wait } from "./data.ts";
import { wait } from "./scene.ts";

type Report = Omit<Explained, "version" | "rights">;

/** Explains a device, its consumers, and its possible consumers. */
export function explainDevice(device: JudgedDevice, inventory: Inventory): Report {
  // Each device is in a unit.
  const unit = inventory.units.find(({ devices }) => devices.includes(device))!;
  const row = deviceRow(device, unit.devices);
  const waits: Wait[] = device.taints.filter(isRepelling).map((taint) => {
    const by = taint.rule === undefined ? "its driver sets it" : `DeviceTaintRule ${taint.rule} sets it`;
    return wait("taint", `taint ${taintText(taint)}: ${by}`, {
      object: taint.rule === undefined ? null : `DeviceTaintRule ${taint.rule}`,
      since: taint.timeAdded === undefined ? null : String(taint.timeAdded),
    });
  });
  if (device.poolProblem !== undefined) waits.push(wait("pool", device.poolProblem));
  return {
    kind: "Device",
    namespace: null,
    name: device.id,
    state: device.state,
    summary: `device ${device.id} is ${device.state}${row.reason === null ? "" : `: ${row.reason}`}`,
    waits,
    placement: null,
    claims: [],
    devices: unit.devices.map((each) => deviceRow(each, unit.devices)),
    counts: countsOf([unit]),
    headroom: {},
    facts: factsOf(device, inventory),
  };
}

function factsOf(device: JudgedDevice, inventory: Inventory): Fact[] {
  const { slice, node, health, use, holders } = device;
  const attributes = Object.entries(device.device.attributes ?? {}).map(([name, value]) => ({
    name: `attribute ${name}`,
    value: String(Object.values(value).find((each) => each !== undefined)),
  }));
  const usable = inventory.shapes
    .filter((shape) => use.shapes.has(shapeKey(shape)))
    .map(({ kind, name }) => (kind === "DeviceClass" ? `class ${name}` : `template ${name}`));
  return [
    { name: "slice", value: slice.metadata.name },
    { name: "node", value: node ?? "several may reach it" },
    ...(health === undefined
      ? []
      : [{ name: "health", value: `${health.health}${health.message ? `: ${health.message}` : ""}` }]),
    { name: "held by", value: names(holders.map(({ claim }) => claim)) || "no claim" },
    { name: "available to", value: names(usable) || "no class or template" },
    ...attributes,
    ...capacityFacts(device),
    ...counterFacts(device.device, device, inventory),
  ];
}

/** Returns the free capacity of a shared device. */
function capacityFacts(device: JudgedDevice): Fact[] {
  const isShared = device.device.allowMultipleAllocations === true;
  return Object.entries(device.device.capacity ?? {}).map(([key, { value }]) => {
    const total = Quantity.parse(String(value));
    if (!isShared) return { name: `capacity ${key}`, value: String(value) };
    const left = allocatedHolders(device).reduce((rest, { consumedCapacity }) => {
      const part = consumedCapacity?.[key];
      return part === undefined ? rest : rest.sub(Quantity.parse(String(part)));
    }, total);
    return { name: `capacity ${key}`, value: `${value}, ${left} left` };
  });
}

/** Returns the free amounts of the counters that it consumes. */
function counterFacts(
  { consumesCounters = [] }: Device,
  { driver, pool }: JudgedDevice,
  inventory: Inventory,
): Fact[] {
  const inPool = inventory.devices.filter((other) => other.driver === driver && other.pool === pool);
  const slices = inventory.world
    .all("ResourceSlice")
    .map(({ object }) => object)
    .filter(({ spec }) => spec.driver === driver && spec.pool.name === pool);
  return consumesCounters.flatMap(({ counterSet, counters = {} }) =>
    Object.entries(counters).map(([name, { value }]): Fact => {
      const set = slices
        .flatMap(({ spec }) => spec.sharedCounters ?? [])
        .find((each) => each.name === counterSet);
      const total = Quantity.parse(String(set?.counters?.[name]?.value ?? "0"));
      const left = inPool
        .filter((other) => allocatedHolders(other).length > 0)
        .flatMap((other) => other.device.consumesCounters ?? [])
        .filter((other) => other.counterSet === counterSet)
        .reduce(
          (rest, other) => rest.sub(Quantity.parse(String(other.counters?.[name]?.value ?? "0"))),
          total,
        );
      return {
        name: `counter ${counterSet}/${name}`,
        value: `takes ${value}, ${left} of ${total} left`,
      };
    }),
  );
}
