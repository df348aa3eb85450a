import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { after, beforeEach, test } from "node:test";
import { ResourceSlice } from "@dray/api/resource/v1";
import { type Clock, systemClock } from "@dray/client";
import { eventually, holdsFor } from "@dray/testing/eventually";
import { driverName, type Fixture, fixture, getInfo } from "../testing/internal/fixture.ts";
import { lamps } from "../testing/internal/smallest.ts";

let node: Fixture;
const nodes: Fixture[] = [];
beforeEach(() => {
  node = fixture();
  nodes.push(node);
});
after(() => Promise.all(nodes.map((one) => one.close())));

/** Its time is moved by hand; what is to come after a while comes in a moment. */
function handClock(): Clock & { time: number } {
  return {
    time: 1_000_000,
    now() {
      return this.time;
    },
    after: (milliseconds, run) => systemClock.after(Math.min(milliseconds, 10), run),
  };
}

/** A driver with prepared claims that has received the signal to end. */
async function ending(...names: string[]) {
  const clock = handClock();
  const stop = new AbortController();
  const claims = names.map((name, i) => node.claim(name, [{ device: `lamp-${i}` }]));
  const { done } = await node.start(lamps, { clock, signal: stop.signal });
  for (const { error } of Object.values(await node.prepare(...claims))) assert.equal(error, "");
  await eventually("slices", () => node.api.list(ResourceSlice).length > 0);
  let ended = false;
  void done.then(() => {
    ended = true;
  });
  stop.abort();
  /** Moves the time. */
  const advance = (seconds: number): void => {
    clock.time += seconds * 1000;
  };
  /** Moves the time and checks that the driver waits on; in real time it looks several times. */
  const waitsAfter = (seconds: number, why = ""): Promise<void> => {
    advance(seconds);
    return holdsFor(`the driver waits ${why}`, () => !ended, 150);
  };
  return { claims, done, advance, waitsAfter };
}

test("without prepared claims the driver ends at once", async () => {
  const { done } = await ending();
  await done;
  assert.deepEqual(readdirSync(node.paths.registrar), []);
});

test("it stays registered until the last claim is unprepared, and ends then", async () => {
  const { claims, done, waitsAfter } = await ending("one", "two");
  await waitsAfter(2.9);
  assert.equal((await getInfo(node.paths.registration)).name, driverName);
  await node.unprepare(claims[0]!);
  await waitsAfter(2.9, "an unprepare has come a moment ago");
  await node.unprepare(claims[1]!);
  await done;
  assert.deepEqual([existsSync(node.paths.registration), existsSync(node.paths.dra)], [false, false]);
});

test("with a claim of a pod that goes on it waits for 3 seconds, and leaves the claim prepared", async () => {
  const { done, advance, waitsAfter } = await ending("one");
  await waitsAfter(2.9);
  advance(0.2);
  await done;
  assert.equal(readdirSync(node.paths.claims).length, 1);
});

test("20 seconds are the most, whatever is still being unprepared", async () => {
  const { claims, done, advance, waitsAfter } = await ending("one", "two");
  const gone = { metadata: { ...claims[0]!.metadata, uid: "another", name: "another" } };
  for (let i = 0; i < 9; i++) {
    await node.unprepare(gone);
    await waitsAfter(2.2, `${i}`);
  }
  await node.unprepare(gone);
  advance(0.3);
  await done;
});

test("it publishes no more while it waits", async () => {
  const { done, advance, waitsAfter } = await ending("one");
  await eventually("it waits", () => node.log.some((line) => line.startsWith("Waiting for prepared claims")));
  const writes = node.api.writes.length;
  for (const { metadata } of node.api.list(ResourceSlice)) node.api.remove(ResourceSlice, metadata);
  await waitsAfter(2);
  assert.equal(node.api.writes.length, writes);
  advance(2);
  await done;
});
