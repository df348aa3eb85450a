import assert from "node:assert/strict";
import { test } from "node:test";
import type { Image } from "../runtime/images.ts";
import {
  bytesToFree,
  defaultImageGCPolicy,
  type ImageRecord,
  isOutdated,
  observeImages,
  removableImages,
} from "./policy.ts";

const image = (ref: string, more: Partial<Image> = {}): Image => ({
  ref,
  tags: [],
  digests: [],
  sizeBytes: 1,
  ...more,
});

test("images go in the order in which they were last used, never those in use or pinned", () => {
  let records: ReadonlyMap<string, ImageRecord> = new Map();
  const all = [image("a"), image("b"), image("c"), image("pinned", { pinned: true })];
  const look = (now: number, images: readonly Image[], ...used: string[]): void => {
    records = observeImages(records, images, new Set(used), now);
  };
  look(10, all, "a");
  look(20, all, "b");
  look(30, [...all, image("new")], "c");
  const order = (): string[] => removableImages(records.values()).map((one) => one.image.ref);
  assert.deepEqual(order(), ["new", "a", "b"]);
  look(40, all);
  assert.deepEqual(order(), ["a", "b", "c"], "one that is gone is forgotten");
  assert.equal(records.get("c")?.firstSeen, 10);
});

test("as many bytes are freed as bring the use down to the low threshold", () => {
  const cases: [capacity: number, available: number, expected: number][] = [
    [1000, 500, 0],
    [1000, 160, 0],
    [1000, 150, 50],
    [1000, 10, 190],
    [1000, 2000, 0],
  ];
  for (const [capacity, available, expected] of cases) {
    const use = { capacity: BigInt(capacity), available: BigInt(available) };
    assert.equal(bytesToFree(use, defaultImageGCPolicy), BigInt(expected), `${available}`);
  }
});

test("age counts from the last use, and from when the agent began to look", () => {
  const policy = { ...defaultImageGCPolicy, maxAge: 100 };
  const record: ImageRecord = { image: image("a"), firstSeen: 0, lastUsed: 500, inUse: false };
  const cases: [began: number, now: number, outdated: boolean][] = [
    [0, 600, false],
    [0, 601, true],
    [550, 650, false],
    [550, 651, true],
  ];
  for (const [began, now, outdated] of cases)
    assert.equal(isOutdated(record, policy, began, now), outdated, `${began} ${now}`);
  assert.equal(isOutdated(record, defaultImageGCPolicy, 0, 1e9), false);
});
