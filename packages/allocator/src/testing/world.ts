/** The invariants of a cluster whose claims come and go. */
import assert from "node:assert/strict";
import { Quantity } from "@dray/api";
import type {
  AllocationResult,
  Device,
  DeviceRequestAllocationResult,
  ResourceSlice,
} from "@dray/api/resource/v1";
import type { Allocated } from "./reference.ts";

/**
 * The allocated state that results from allocations, as an input of the reference. Admin access allocates
 * nothing.
 */
export function allocatedBy(allocations: Iterable<AllocationResult>): Allocated {
  const devices: string[] = [];
  const shared: string[] = [];
  const capacity: Record<string, Record<string, string>> = {};
  for (const result of resultsOf(allocations)) {
    const id = idOf(result);
    if (result.shareID === undefined) devices.push(id);
    else {
      shared.push(`${id}/${result.shareID}`);
      if (result.consumedCapacity !== undefined) {
        capacity[id] = sum(capacity[id] ?? {}, result.consumedCapacity);
      }
    }
  }
  return { devices, shared, capacity };
}

/**
 * Asserts that no device is allocated twice and no capacity or counter is exceeded, from results and slices
 * alone.
 */
export function checkWorld(slices: readonly ResourceSlice[], allocations: Iterable<AllocationResult>): void {
  const results = resultsOf(allocations);
  const whole = results.filter(({ shareID }) => shareID === undefined).map(idOf);
  assert.equal(
    new Set(whole).size,
    whole.length,
    `a device is allocated twice: ${whole.toSorted().join(" ")}`,
  );
  const shares = results.filter(({ shareID }) => shareID !== undefined);
  const ids = shares.map((result) => `${idOf(result)}/${result.shareID}`);
  assert.equal(new Set(ids).size, ids.length, "two shares of a device have the same id");
  for (const { device, id } of devicesOf(slices)) {
    const own = shares.filter((result) => idOf(result) === id);
    assert.ok(own.length === 0 || !whole.includes(id), `${id} is allocated as a whole and in shares`);
    const used = own.reduce<Record<string, string>>(
      (all, { consumedCapacity }) => sum(all, consumedCapacity ?? {}),
      {},
    );
    for (const [name, amount] of Object.entries(used)) {
      const there = device.capacity?.[name]?.value ?? "0";
      assert.ok(
        Quantity.parse(amount).compare(Quantity.parse(there)) <= 0,
        `${id}: ${amount} of ${there} ${name}`,
      );
    }
  }
  const held = new Set(results.map(idOf));
  for (const [pool, members] of Map.groupBy(slices, ({ spec }) => `${spec.driver}/${spec.pool.name}`)) {
    const uses = devicesOf(members).flatMap(({ device, id }) =>
      held.has(id) ? (device.consumesCounters ?? []) : [],
    );
    for (const set of members.flatMap(({ spec }) => spec.sharedCounters ?? [])) {
      for (const [name, { value }] of Object.entries(set.counters ?? {})) {
        const used = uses
          .filter(({ counterSet }) => counterSet === set.name)
          .map(({ counters }) => Quantity.parse(counters?.[name]?.value ?? "0"))
          .reduce((total, one) => total.add(one), Quantity.of(0));
        const there = Quantity.parse(value);
        assert.ok(
          used.compare(there) <= 0,
          `pool ${pool}: ${used} of ${there} of counter ${set.name}/${name}`,
        );
      }
    }
  }
}

function resultsOf(allocations: Iterable<AllocationResult>): DeviceRequestAllocationResult[] {
  return [...allocations]
    .flatMap(({ devices }) => devices?.results ?? [])
    .filter(({ adminAccess }) => adminAccess !== true);
}

const idOf = ({ driver, pool, device }: DeviceRequestAllocationResult): string =>
  `${driver}/${pool}/${device}`;

function devicesOf(slices: readonly ResourceSlice[]): { device: Device; id: string }[] {
  return slices.flatMap(({ spec }) =>
    (spec.devices ?? []).map((device) => ({ device, id: `${spec.driver}/${spec.pool.name}/${device.name}` })),
  );
}

function sum(
  a: Readonly<Record<string, string>>,
  b: Readonly<Record<string, string>>,
): Record<string, string> {
  const total = { ...a };
  for (const [name, amount] of Object.entries(b)) {
    total[name] = Quantity.parse(total[name] ?? "0")
      .add(Quantity.parse(amount))
      .toString();
  }
  return total;
}
