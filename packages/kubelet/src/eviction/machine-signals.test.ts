import assert from "node:assert/strict";
import { test } from "node:test";
import { MachineSignals, memoryObservation } from "./machine-signals.ts";

test("memory.available is free memory and inactive file cache", () => {
  const meminfo = [
    "MemTotal:       1000 kB",
    "MemFree:         100 kB",
    "MemAvailable:    900 kB",
    "Active(file):     40 kB",
    "Inactive(file):   20 kB",
  ].join("\n");
  const { available, capacity } = memoryObservation(meminfo) ?? {};
  assert.deepEqual([available?.toString(), capacity?.toString()], ["120Ki", "1000Ki"]);
  assert.equal(memoryObservation("MemTotal: 1000 kB\n"), undefined);
});

test("the machine has all signals, those of images only with an image folder", async () => {
  const root = import.meta.dirname;
  const without = new MachineSignals({ root, images: { imageFolder: async () => undefined } });
  const names = (all: ReadonlyMap<string, unknown>): string[] =>
    [...all.keys()].filter((name) => !/inodes/.test(name));
  const observations = await without.observe();
  assert.deepEqual(names(observations), ["memory.available", "pid.available", "nodefs.available"]);
  for (const [name, { available, capacity }] of observations) {
    assert.ok(available.sign > 0, name);
    assert.ok(available.compare(capacity) <= 0, name);
  }
  assert.equal(await without.hasDedicatedImageFs(), false);
  const here = new MachineSignals({ root, images: { imageFolder: async () => root } });
  assert.ok(names(await here.observe()).includes("imagefs.available"));
  assert.equal(await here.hasDedicatedImageFs(), false);
  const elsewhere = new MachineSignals({ root, images: { imageFolder: async () => "/proc" } });
  assert.equal(await elsewhere.hasDedicatedImageFs(), true);
});
