import assert from "node:assert/strict";
import { test } from "node:test";
import { Quantity } from "@dray/api";
import { nextPressure, noPressure, type PressureState } from "./pressure.ts";
import type { EvictionSignal, Observations } from "./signals.ts";
import type { Threshold } from "./thresholds.ts";

const gi = (amount: number): Quantity => Quantity.of(BigInt(amount) * 1024n ** 3n, "BinarySI");
const threshold = (signal: EvictionSignal, amount: number, more: Partial<Threshold> = {}): Threshold => ({
  signal,
  value: { quantity: gi(amount) },
  gracePeriod: 0,
  ...more,
});
const observed = (amounts: Partial<Record<EvictionSignal, number>>): Observations =>
  new Map(
    Object.entries(amounts).map(([signal, amount]) => [
      signal as EvictionSignal,
      { available: gi(amount), capacity: gi(100) },
    ]),
  );

/** Conditions after each of several observations: the time, and the available amount. */
function run(
  thresholds: readonly Threshold[],
  pressureTransitionPeriod: number,
  looks: readonly (readonly [at: number, amounts: Partial<Record<EvictionSignal, number>>])[],
): string[] {
  let state: PressureState = noPressure;
  return looks.map(([at, amounts]) => {
    state = nextPressure(state, observed(amounts), { thresholds, pressureTransitionPeriod }, at);
    return `${[...state.conditions].join("+")}: ${state.toReclaim.map(({ signal }) => signal).join()}`;
  });
}

test("a hard threshold counts at once, and its condition for a while longer", () => {
  assert.deepEqual(
    run([threshold("memory.available", 2)], 300, [
      [0, { "memory.available": 5 }],
      [10, { "memory.available": 1 }],
      [20, { "memory.available": 5 }],
      [309, { "memory.available": 5 }],
      [310, { "memory.available": 5 }],
    ]),
    [": ", "MemoryPressure: memory.available", "MemoryPressure: ", "MemoryPressure: ", ": "],
  );
});

test("without a transition period a condition is there as long as its threshold is met", () => {
  assert.deepEqual(
    run([threshold("pid.available", 2)], 0, [
      [0, { "pid.available": 1 }],
      [10, { "pid.available": 3 }],
    ]),
    ["PIDPressure: pid.available", ": "],
  );
});

test("a soft threshold has its condition at once, and counts after its grace period without a break", () => {
  assert.deepEqual(
    run([threshold("nodefs.available", 10, { gracePeriod: 60 })], 0, [
      [0, { "nodefs.available": 5 }],
      [30, { "nodefs.available": 15 }],
      [40, { "nodefs.available": 5 }],
      [99, { "nodefs.available": 5 }],
      [100, { "nodefs.available": 5 }],
    ]),
    ["DiskPressure: ", ": ", "DiskPressure: ", "DiskPressure: ", "DiskPressure: nodefs.available"],
  );
});

test("a threshold that was met goes on until its minimum is reclaimed", () => {
  const one = threshold("nodefs.available", 10, { minReclaim: { quantity: gi(5) } });
  assert.deepEqual(
    run([one], 0, [
      [0, { "nodefs.available": 12 }],
      [10, { "nodefs.available": 9 }],
      [20, { "nodefs.available": 14 }],
      [30, { "nodefs.available": 15 }],
      [40, { "nodefs.available": 12 }],
    ]),
    [": ", "DiskPressure: nodefs.available", "DiskPressure: nodefs.available", ": ", ": "],
  );
});

test("memory comes before all else", () => {
  const all = [
    threshold("nodefs.available", 2),
    threshold("pid.available", 2),
    threshold("memory.available", 2),
  ];
  const amounts = { "nodefs.available": 1, "pid.available": 1, "memory.available": 1 };
  assert.deepEqual(run(all, 0, [[0, amounts]]), [
    "DiskPressure+PIDPressure+MemoryPressure: memory.available,nodefs.available,pid.available",
  ]);
});
