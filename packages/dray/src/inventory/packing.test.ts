import assert from "node:assert/strict";
import { test } from "node:test";
import { Random, seedOr } from "@dray/testing/random";
import { type PackItem, Packing, type PackSpace } from "./packing.ts";

const item = (amounts: Readonly<Record<string, number>>, profit = 1): PackItem => ({
  profit,
  amounts: new Map(Object.entries(amounts).map(([name, amount]) => [name, BigInt(amount)])),
});
const space = (counters: Readonly<Record<string, number>>): PackSpace => ({
  counters: new Map(Object.entries(counters).map(([name, amount]) => [name, BigInt(amount)])),
});

/** Tries every subset. */
function bruteForce(items: readonly PackItem[], { counters, groups }: PackSpace): number {
  let best = 0;
  for (let subset = 0; subset < 1 << items.length; subset++) {
    const chosen = items.filter((_, i) => subset & (1 << i));
    const fits = [...counters].every(
      ([name, total]) => chosen.reduce((sum, each) => sum + (each.amounts.get(name) ?? 0n), 0n) <= total,
    );
    const sets = new Set(chosen.flatMap((each) => [...(each.groups?.keys() ?? [])]));
    const joins = [...sets].every((set) => {
      const own = chosen.flatMap((each) => each.groups?.get(set) ?? []);
      const open = groups?.get(set);
      const all = open === undefined ? own : [open === "none" ? new Set<string>() : open, ...own];
      return (
        all.every((each) => each.size === 0) ||
        [...all[0]!].some((group) => all.every((each) => each.has(group)))
      );
    });
    if (fits && joins)
      best = Math.max(
        best,
        chosen.reduce((sum, { profit }) => sum + profit, 0),
      );
  }
  return best;
}

test("the most partitions of eight GPUs of seven slices are 56, whichever sizes there are", () => {
  const gpus = Array.from({ length: 8 }, (_, gpu) => `gpu-${gpu}`);
  const items = gpus.flatMap((gpu) => [
    item({ [gpu]: 7 }),
    ...[4, 3, 3, 2, 2, 2].map((slices) => item({ [gpu]: slices })),
    ...Array.from({ length: 7 }, () => item({ [gpu]: 1 })),
  ]);
  const found = new Packing().best(items, space(Object.fromEntries(gpus.map((gpu) => [gpu, 7]))));
  assert.deepEqual([found.profit, found.isExact, found.chosen.length], [56, true, 56]);
});

test("a search that is cut short says so", () => {
  const random = new Random(7);
  const items = random.list(40, 40, () =>
    item({ a: random.int(20, 60), b: random.int(20, 60), c: random.int(20, 60) }, random.int(1, 9)),
  );
  const found = new Packing(50).best(items, space({ a: 500, b: 500, c: 500 }));
  assert.equal(found.isExact, false);
  assert.ok(found.profit > 0);
});

test("random items: the most by trying every subset", () => {
  const seed = seedOr(20261129);
  const random = new Random(seed);
  const names = ["a", "b", "c", "d"];
  for (let round = 0; round < 500; round++) {
    const groups = (): ReadonlySet<string> => new Set(random.some(["x", "y", "z"], 0.5));
    const hasGroups = random.chance(0.3);
    const items = random.list(1, 10, () => {
      const used = random.some(names, 0.5);
      const amounts = Object.fromEntries(used.map((name) => [name, random.below(8)]));
      const own = item(amounts, random.chance(0.7) ? 1 : random.int(0, 4));
      if (!hasGroups) return own;
      return { ...own, groups: new Map(random.some(["s", "t"], 0.6).map((set) => [set, groups()])) };
    });
    const own = space(Object.fromEntries(names.map((name) => [name, random.below(20)])));
    const open =
      hasGroups && random.chance(0.3) ? new Map([["s", random.pick(["none", groups()])]]) : undefined;
    const room = { ...own, ...(open && { groups: open as NonNullable<PackSpace["groups"]> }) };
    const isContradictory =
      open !== undefined &&
      [...open.values()].some((each) => each !== "none" && (each as Set<string>).size === 0);
    if (isContradictory) continue;
    const { profit, isExact, chosen } = new Packing().best(items, room);
    assert.ok(isExact);
    assert.equal(profit, bruteForce(items, room), `DRAY_SEED=${seed} round ${round}`);
    assert.equal(
      chosen.reduce((sum, i) => sum + items[i]!.profit, 0),
      profit,
    );
  }
});
