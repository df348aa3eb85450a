import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import { StatusError } from "@dray/api";
import { type Device, ResourceSlice } from "@dray/api/resource/v1";
import { type SkipClock, skipClock } from "@dray/testing/clock";
import { eventually, holdsFor } from "@dray/testing/eventually";
import type { Driver, Pool } from "../index.ts";
import { driverName, type Fixture, fixture, nodeName } from "../testing/internal/fixture.ts";
import { lamps } from "../testing/internal/smallest.ts";

let node: Fixture;
const nodes: Fixture[] = [];
beforeEach(() => {
  node = fixture();
  nodes.push(node);
});
after(() => Promise.all(nodes.map((one) => one.close())));

/** A driver whose pools the test decides. */
function publishing(first: readonly Pool[]) {
  let next = (_: readonly Pool[]) => {};
  const driver: Driver = {
    ...lamps,
    async *discover(signal) {
      yield first;
      while (!signal.aborted) {
        yield await new Promise<readonly Pool[]>((resolve) => {
          next = resolve;
        });
      }
    },
  };
  return { driver, publish: (pools: readonly Pool[]) => next(pools) };
}

/**
 * Lets more time pass than the publisher waits until it repairs a slice, and checks that it finds nothing to
 * repair.
 */
async function writesNoMore(clock: SkipClock): Promise<void> {
  for (let looks = 0; looks < 3; looks++) {
    clock.skip(2_000);
    await holdsFor(`one write: ${node.api.writes}`, () => node.api.writes.length === 1, 50);
  }
}

const many = (count: number, more: object = {}): Device[] =>
  Array.from({ length: count }, (_, i) => ({ name: `lamp-${i}`, ...more }));
const slices = () =>
  node.api.list(ResourceSlice).sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
const sizes = () => slices().map(({ spec }) => spec.devices?.length ?? 0);
const generations = () => [...new Set(slices().map(({ spec }) => spec.pool.generation))];

/** True when the pools are complete: each slice is there, of one generation. */
const complete = (count: number) =>
  slices().length === count &&
  slices().every(({ spec }) => spec.pool.resourceSliceCount === count) &&
  generations().length === 1;

test("one small pool is one slice, owned by the node and named as the Go helper does it (0.36)", async () => {
  await node.start(lamps);
  const [slice] = await eventually("one slice", () => complete(1) && slices());
  assert.match(slice!.metadata.name, /^node-a-lamp\.example\.com-/);
  assert.deepEqual(slice!.metadata.ownerReferences, [
    { apiVersion: "v1", kind: "Node", name: nodeName, uid: "node-uid", controller: true },
  ]);
  assert.deepEqual(slice!.spec, {
    driver: driverName,
    nodeName,
    pool: { name: nodeName, generation: 1, resourceSliceCount: 1 },
    devices: [{ name: "lamp-0" }, { name: "lamp-1" }],
  });
});

test("128 devices fill a slice, 64 if one of them has taints, counters or lists", async () => {
  const list = { attributes: { colours: { strings: ["red"] } } };
  await node.start(publishing([{ devices: many(300) }]).driver);
  await eventually("three slices", () => complete(3));
  assert.deepEqual(sizes(), [128, 128, 44]);
  assert.deepEqual(
    slices().flatMap(({ spec }) => (spec.devices ?? []).map(({ name }) => name)),
    many(300).map(({ name }) => name),
    "in the order of the names of slices the devices keep their order",
  );
  const other = fixture();
  nodes.push(other);
  node = other;
  const mixed = [...many(100), ...many(70, list).map((device, i) => ({ ...device, name: `list-${i}` }))];
  await node.start(publishing([{ devices: mixed }]).driver);
  await eventually("three slices", () => complete(3));
  assert.deepEqual(sizes(), [100, 64, 6]);
});

test("counter sets have slices of their own, at most 8 each", async () => {
  const sharedCounters = Array.from({ length: 9 }, (_, i) => ({
    name: `set-${i}`,
    counters: { memory: { value: "8Gi" } },
  }));
  const devices = many(2, {
    consumesCounters: [{ counterSet: "set-0", counters: { memory: { value: "1Gi" } } }],
  });
  await node.start(publishing([{ devices, sharedCounters }]).driver);
  await eventually("three slices", () => complete(3));
  assert.deepEqual(
    slices().map(({ spec }) => [spec.sharedCounters?.length, spec.devices?.length]),
    [
      [8, undefined],
      [1, undefined],
      [undefined, 2],
    ],
  );
});

test("a change in one slice keeps the generation, in more raises it everywhere; fewer slices delete", async () => {
  const devices = many(200);
  const { driver, publish } = publishing([{ devices }]);
  await node.start(driver);
  await eventually("two slices", () => complete(2));
  assert.deepEqual(generations(), [1]);

  const one = devices.with(0, { name: "lamp-0", attributes: { broken: { bool: true } } });
  publish([{ devices: one }]);
  await eventually("the change", () => slices()[0]?.spec.devices?.[0]?.attributes);
  assert.deepEqual(generations(), [1]);
  assert.equal(node.api.writes.filter((write) => write.startsWith("update")).length, 1);

  publish([{ devices: devices.map((device) => ({ ...device, attributes: { broken: { bool: true } } })) }]);
  await eventually("generation 2", () => complete(2) && generations()[0] === 2);

  publish([{ devices: many(3) }]);
  await eventually("generation 3", () => complete(1) && generations()[0] === 3);
  assert.deepEqual(sizes(), [3]);
});

test("from one slice to two the names get their order", async () => {
  const { driver, publish } = publishing([{ devices: many(1) }]);
  await node.start(driver);
  await eventually("one slice", () => complete(1));
  publish([{ devices: many(129) }]);
  await eventually("two slices", () => complete(2));
  assert.deepEqual(
    slices().map(({ metadata }) => metadata.name.slice(0, 6)),
    ["00000-", "00001-"],
  );
  assert.deepEqual(sizes(), [128, 1]);
});

test("an empty pool is one empty slice, a dropped pool none", async () => {
  const { driver, publish } = publishing([{ devices: [] }, { name: "attic", devices: many(1) }]);
  await node.start(driver);
  await eventually("two pools", () => slices().length === 2);
  assert.deepEqual(
    slices()
      .map(({ spec }) => [spec.pool.name, spec.devices?.length])
      .sort(),
    [
      ["attic", 1],
      [nodeName, 0],
    ],
  );
  publish([{ devices: [] }]);
  await eventually("one pool", () => slices().length === 1);
});

test("deletion by the kubelet and edits by others are repaired", async () => {
  await node.start(lamps);
  const [first] = await eventually("a slice", () => complete(1) && slices());
  node.api.remove(ResourceSlice, first!.metadata);
  const [second] = await eventually("a slice again", () => complete(1) && slices());
  assert.notEqual(second!.metadata.uid, first!.metadata.uid);
  node.api.put(ResourceSlice, { ...second!, spec: { ...second!.spec, devices: [] } });
  await eventually("the devices again", () => sizes()[0] === 2);
  assert.deepEqual(slices()[0]!.metadata.uid, second!.metadata.uid);
});

test("a start adopts existing slices: no write without a change, older generations are deleted", async () => {
  const one = await node.start(lamps);
  const [slice] = await eventually("a slice", () => complete(1) && slices());
  await one.stop();
  assert.equal(slices().length, 1, "slices outlive their driver");
  const { metadata, spec } = slice!;
  node.api.put(ResourceSlice, {
    metadata: { name: "old" },
    spec: { ...spec, pool: { ...spec.pool, generation: 0 } },
  });
  const before = node.api.writes.length;
  await node.start(lamps);
  await eventually("the old one gone", () => slices().length === 1);
  assert.equal(slices()[0]!.metadata.resourceVersion, metadata.resourceVersion);
  assert.deepEqual(node.api.writes.slice(before), ["delete resourceslices old"]);
});

test("a server that refuses for a while is asked again", async () => {
  let refusals = 2;
  node.api.before = () => {
    if (refusals-- > 0) throw StatusError.of("Forbidden", "not yet");
  };
  await node.start(lamps);
  await eventually("a slice", () => complete(1));
  assert.equal(node.log.filter((line) => line.includes("not yet")).length, 2);
});

test("fields that the server drops are reported once and not sent again and again", async () => {
  node.api.admit = (object) => {
    const { spec } = object as ResourceSlice;
    for (const device of spec.devices ?? []) delete device.taints;
  };
  const taints = [{ key: "broken", effect: "NoSchedule" }];
  const clock = skipClock();
  await node.start(publishing([{ devices: many(1, { taints }) }]).driver, { clock });
  await eventually("a report", () => node.log.find((line) => line.includes('"gates":["DRADeviceTaints"]')));
  await writesNoMore(clock);
});

test("of a field that a release has renamed the server drops one name only: that is not reported", async () => {
  const renamed = {
    nodeAllocatableResourceMappings: { cpu: { capacityKey: "cpu" } },
    nodeAllocatableResources: { cpu: { mapping: { capacityKey: "cpu", capacityMultiplier: "1" } } },
  };
  const pool = (name: string) => ({ name, devices: many(1, renamed) });
  node.api.admit = (object) => {
    const { spec } = object as ResourceSlice;
    for (const device of spec.devices ?? []) {
      delete device.nodeAllocatableResourceMappings;
      if (spec.pool.name === "gate-off") delete device.nodeAllocatableResources;
    }
  };
  await node.start(publishing([pool("gate-on"), pool("gate-off")]).driver);
  await eventually("a report", () =>
    node.log.find((line) => line.includes('"gates":["DRANodeAllocatableResources"]')),
  );
  assert.equal(node.log.filter((line) => line.includes('"gates":')).length, 1, String(node.log));
});

test("equal quantities in another form and timeAdded of a taint cause no write", async () => {
  node.api.admit = (object) => {
    for (const device of (object as ResourceSlice).spec?.devices ?? []) {
      for (const capacity of Object.values(device.capacity ?? {})) capacity.value = "1Gi";
      for (const taint of device.taints ?? []) taint.timeAdded ??= "2026-01-01T00:00:00Z";
    }
  };
  const lamp = (colour: string) => ({
    name: "lamp-0",
    attributes: { colour: { string: colour } },
    capacity: { memory: { value: "1024Mi" } },
    taints: [{ key: "broken", effect: "NoSchedule" }],
  });
  const { driver, publish } = publishing([{ devices: [lamp("red")] }]);
  const clock = skipClock();
  await node.start(driver, { clock });
  await eventually("a slice", () => complete(1));
  await writesNoMore(clock);
  node.api.admit = () => {};
  publish([{ devices: [lamp("blue")] }]);
  const device = await eventually("the change", () => {
    const found = slices()[0]!.spec.devices![0]!;
    return found.attributes?.["colour"]?.string === "blue" && found;
  });
  assert.equal(device.taints?.[0]?.timeAdded, "2026-01-01T00:00:00Z", "the taint keeps its age");
});

test("invalid pools are reported; published slices stay", async () => {
  const { driver, publish } = publishing([{ devices: many(1) }]);
  await node.start(driver);
  await eventually("a slice", () => complete(1));
  publish([{ devices: [...many(1), ...many(1)] }]);
  await eventually("a report", () => node.log.find((line) => line.includes("is in the pool twice")));
  assert.deepEqual(sizes(), [1]);
  // Both have the node's name; of two under one name only the last would be published.
  publish([{ devices: many(2) }, { devices: many(3) }]);
  await eventually("a report", () => node.log.find((line) => /pool .* is there twice/.test(line)));
  assert.deepEqual(sizes(), [1]);
});
