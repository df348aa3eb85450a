import assert from "node:assert/strict";
import { test } from "node:test";
import type {
  Device,
  DeviceClaim,
  DeviceRequest,
  ExactDeviceRequest,
  ResourceSlice,
} from "@dray/api/resource/v1";
import { type Allocator, type Corrections, createAllocator } from "../index.ts";
import { driver, makeClaim, makeClass, makeNode, makeSlice } from "../testing/clusters.ts";
import { featuresOf } from "../testing/engine.ts";

const node = makeNode("node-1");
const all = ["AdminAccess", "ConsumableCapacity", "PartitionableDevices"];

function allocatorWith(slices: readonly ResourceSlice[], corrections: Partial<Corrections>): Allocator {
  const allocator = createAllocator({ features: featuresOf(all), corrections, newId: () => "id" });
  allocator.update({ kind: "class", object: makeClass("gpu", {}), deleted: false });
  for (const slice of slices) allocator.update({ kind: "slice", object: slice, deleted: false });
  return allocator;
}

/** Compares the result without the correction, which the explanation must note, with that with it. */
function compare(
  correction: keyof Corrections,
  slices: readonly ResourceSlice[],
  devices: DeviceClaim,
  [off, on]: readonly [off: string, on: string],
): void {
  const claim = makeClaim("c", devices);
  const upstream = allocatorWith(slices, {});
  assert.equal(upstream.allocate(node, [claim]).type, off);
  const groups = upstream
    .explain(node, [claim])
    .claims.flatMap(({ requests }) => requests.flatMap(({ refused }) => refused));
  if (off !== "allocated") {
    assert.ok(
      groups.some(({ note }) => note?.startsWith(`${correction}:`)),
      JSON.stringify(groups),
    );
  }
  assert.equal(allocatorWith(slices, { [correction]: true }).allocate(node, [claim]).type, on);
}

const pool = { name: "p", generation: 1, resourceSliceCount: 1 };
const plain = { driver, pool, nodeName: "node-1" };
const request = (more: Partial<ExactDeviceRequest>): DeviceClaim => ({
  requests: [
    { name: "r", exactly: { deviceClassName: "gpu", allocationMode: "ExactCount", count: 1, ...more } },
  ],
});

test("adminAccessIgnoresCounters (kubernetes#140729)", () => {
  const two = { ...pool, resourceSliceCount: 2 };
  const counters = (value: string): { readonly c: { value: string } } => ({ c: { value } });
  const slices = [
    makeSlice("counters", {
      ...plain,
      pool: two,
      sharedCounters: [{ name: "s", counters: counters("1") }],
    }),
    makeSlice("devices", {
      ...plain,
      pool: two,
      devices: [{ name: "d", consumesCounters: [{ counterSet: "s", counters: counters("2") }] }],
    }),
  ];
  compare("adminAccessIgnoresCounters", slices, request({ adminAccess: true }), ["refused", "allocated"]);
});

test("the search distinguishes devices with admin access when it backtracks", () => {
  const counters = (value: number): { readonly c: { value: string } } => ({ c: { value: String(value) } });
  const two = { ...pool, resourceSliceCount: 2 };
  const consuming = (name: string, model: string, amount: number): Device => ({
    name,
    attributes: { model: { string: model } },
    consumesCounters: [{ counterSet: "s", counters: counters(amount) }],
  });
  const slices = [
    makeSlice("counters", { ...plain, pool: two, sharedCounters: [{ name: "s", counters: counters(3) }] }),
    makeSlice("devices", {
      ...plain,
      pool: two,
      devices: [consuming("a", "x", 1), consuming("b", "x", 2), consuming("c", "y", 2)],
    }),
  ];
  const of = (name: string, model: string, more: Partial<ExactDeviceRequest> = {}): DeviceRequest => {
    const expression = `device.attributes["${driver}"].model == "${model}"`;
    const selectors = [{ cel: { expression } }];
    return { name, exactly: { ...request({ selectors, ...more }).requests![0]!.exactly! } };
  };
  // Enough dead ends for the search to start pruning.
  const unmatched = Array.from({ length: 8 }, (_, i) => ({ name: `s${i}`, ...of("", "none").exactly! }));
  const claims = [
    makeClaim("first", {
      requests: [{ name: "r", firstAvailable: [...unmatched, { name: "s9", ...of("", "z").exactly! }] }],
    }),
    makeClaim("second", {
      requests: [of("admin", "x", { adminAccess: true }), of("own", "x"), of("other", "y")],
    }),
  ];
  const allocator = createAllocator({
    features: featuresOf([...all, "PrioritizedList"]),
    corrections: { adminAccessIgnoresCounters: true },
    newId: () => "id",
  });
  const z = makeSlice("z", {
    ...plain,
    pool: { ...pool, name: "z" },
    devices: [{ name: "z", attributes: { model: { string: "z" } } }],
  });
  allocator.update({ kind: "class", object: makeClass("gpu", {}), deleted: false });
  for (const object of [...slices, z]) allocator.update({ kind: "slice", object, deleted: false });
  const result = allocator.allocate(node, claims);
  assert.ok(result.type === "allocated");
  assert.deepEqual(
    result.allocations[1]!.devices?.results?.map(({ device }) => device),
    ["b", "a", "c"],
  );
});

test("allModeRefusesNode: a pool that is being updated (kubernetes#141898)", () => {
  const slices = [
    makeSlice("a", { ...plain, pool: { ...pool, resourceSliceCount: 2 }, devices: [{ name: "d" }] }),
  ];
  const all = request({ allocationMode: "All" });
  delete all.requests![0]!.exactly!.count;
  compare("allModeRefusesNode", slices, all, ["error", "refused"]);
});

test("capacityNamesByDriver (kubernetes#142202)", () => {
  const capacity = { memory: { value: "8Gi" } };
  const slices = [makeSlice("a", { ...plain, devices: [{ name: "d", capacity }] })];
  const wanted = request({ capacity: { requests: { [`${driver}/memory`]: "1Gi" } } });
  compare("capacityNamesByDriver", slices, wanted, ["refused", "allocated"]);
});

test("sliceCountsMustAgree (kubernetes#141117)", () => {
  const disagreeing = ["a", "b"].map((name, i) =>
    makeSlice(name, {
      ...plain,
      pool: { ...pool, resourceSliceCount: 2 + i },
      devices: [{ name }],
    }),
  );
  compare("sliceCountsMustAgree", disagreeing, request({}), ["allocated", "refused"]);
});
