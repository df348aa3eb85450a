import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeObject } from "@dray/api";
import { type CacheEvent, Histories } from "./history.ts";

const object = { metadata: {} } as KubeObject;
const event = (revision: number, size = 100): CacheEvent => ({
  type: "MODIFIED",
  revision,
  key: "/registry/x",
  object,
  size,
  frames: new Map(),
});
const nothing = (): void => {};
const revisions = (events: readonly CacheEvent[] | undefined): number[] | undefined =>
  events?.map(({ revision }) => revision);

test("readers get each event once and in order, from their start", () => {
  const history = new Histories().create(10);
  history.append(event(11));
  history.append(event(13));
  const early = history.read(10, nothing);
  const late = history.read(12, nothing);
  assert.deepEqual(revisions(early?.next()), [11, 13]);
  assert.deepEqual(revisions(late?.next()), [13]);
  history.append(event(14));
  assert.deepEqual(revisions(early?.next()), [14]);
  assert.deepEqual(revisions(early?.next()), []);
  assert.deepEqual(revisions(late?.next()), [14]);
  assert.equal(history.read(9, nothing), undefined);
  assert.deepEqual(revisions(history.after(13)), [14]);
});

test("an event wakes its readers, except for those that have stopped", () => {
  const history = new Histories().create(0);
  let woken = 0;
  const reader = history.read(0, () => woken++);
  history.append(event(1));
  assert.equal(woken, 1);
  reader?.close();
  history.append(event(2));
  assert.equal(woken, 1);
  assert.equal(history.readers, 0);
});

test("events without waiting readers are dropped, those of a slow reader are kept up to a limit", () => {
  const history = new Histories().create(0);
  for (let revision = 1; revision <= 5000; revision++) history.append(event(revision));
  assert.equal(history.after(1), undefined);
  assert.ok((history.after(4000)?.length ?? 0) === 1000);
  const slow = history.read(4990, nothing);
  for (let revision = 5001; revision <= 15_000; revision++) history.append(event(revision));
  assert.equal(slow?.next()?.length, 10_010);
  for (let revision = 15_001; revision <= 40_000; revision++) history.append(event(revision));
  assert.equal(slow?.next(), undefined, "a reader that was too slow must not go on behind a gap");
});

test("a history of large objects is bounded by their size", () => {
  const history = new Histories().create(0);
  const slow = history.read(0, nothing);
  const size = 2 ** 20;
  let most = 0;
  for (let revision = 1; revision <= 1000; revision++) {
    history.append(event(revision, size));
    const kept = history.after(Math.max(revision - 200, 0));
    most = Math.max(most, kept?.length ?? 0);
  }
  assert.ok(most <= 128, `${most} MiB were kept`);
  assert.equal(slow?.next(), undefined);
  assert.ok((history.after(990)?.length ?? 0) === 10, "the newest events stay");
});

test("dropping a history ends its readers, even those that have read everything", () => {
  const history = new Histories().create(0);
  const reader = history.read(0, nothing);
  reader?.next();
  history.forget(20);
  assert.equal(reader?.next(), undefined);
  assert.equal(history.read(19, nothing), undefined);
  history.append(event(21));
  assert.deepEqual(revisions(history.read(20, nothing)?.next()), [21]);
});

test("the total size of all histories is bounded: the largest are trimmed", () => {
  const histories = new Histories();
  const [small, ...large] = Array.from({ length: 5 }, () => histories.create(0));
  small!.append(event(1));
  small!.append(event(2));
  for (let revision = 3; revision <= 400; revision++) {
    large[revision % large.length]!.append(event(revision, 2 ** 20));
    assert.ok(histories.text <= 128 * 2 ** 20);
  }
  assert.deepEqual(revisions(small!.after(0)), [1, 2]);
});

test("events of large objects are kept while they are fresh, or while a reader waits for them", () => {
  const histories = new Histories();
  const [large, small] = [histories.create(0), histories.create(0)];
  small.append(event(1));
  large.append(event(2, 2 ** 20));
  large.append(event(3));
  const slow = large.read(0, nothing);
  histories.age();
  large.append(event(4, 2 ** 20));
  histories.age();
  assert.deepEqual(revisions(slow?.next()), [2, 3, 4]);
  large.append(event(5));
  histories.age();
  assert.equal(large.after(3), undefined);
  assert.deepEqual(revisions(large.after(4)), [5]);
  assert.deepEqual(revisions(small.after(0)), [1]);
  assert.equal(histories.text, 200);
});
