import assert from "node:assert/strict";
import { test } from "node:test";
import { claim, gpuClass, type Manifest, node, slice, template } from "../plan/testing.ts";
import { Inventory } from "./inventory.ts";
import { classShape, type Shape } from "./shapes.ts";
import { counterPool, deviceClass, features, heldClaim, partitionedGpu, worldOf } from "./testing.ts";

const inventory = (...objects: readonly Manifest[]): Inventory => new Inventory(worldOf(objects), features);

const states = ({ devices }: Inventory): Record<string, string> =>
  Object.fromEntries(devices.map(({ device, state }) => [device.name, state]));

const room = (found: Inventory, name: string): number | undefined => found.headroom(classShape(name))?.count;

const whole = deviceClass("whole", 'device.attributes["gpu.example.com"].kind == "whole"');
const half = deviceClass("half", 'device.attributes["gpu.example.com"].kind == "half"');

test("a device is free, allocated, tainted, or of no use to any class", () => {
  const devices = [
    { name: "free" },
    { name: "held" },
    { name: "broken", taints: [{ key: "gpu.example.com/unhealthy", effect: "NoSchedule" }] },
    { name: "ruled" },
  ];
  const rule = {
    apiVersion: "resource.k8s.io/v1",
    kind: "DeviceTaintRule",
    metadata: { name: "maintenance" },
    spec: { deviceSelector: { device: "ruled" }, taint: { key: "maintenance", effect: "NoExecute" } },
  };
  const found = inventory(node("a"), slice("a", devices), gpuClass, heldClaim("h", ["a/held"], ["p"]), rule);
  assert.deepEqual(states(found), { free: "free", held: "allocated", broken: "tainted", ruled: "tainted" });
  const byName = new Map(found.devices.map((each) => [each.device.name, each]));
  assert.equal(byName.get("ruled")!.taints[0]!.rule, "maintenance");
  assert.equal(byName.get("broken")!.health?.health, "Unhealthy");
  assert.deepEqual(byName.get("held")!.holders[0]!.pods, ["default/p"]);
  assert.equal(room(found, "gpu"), 1);
  // Without a class the free device is unavailable.
  const unclassed = inventory(node("a"), slice("a", devices), whole, heldClaim("h", ["a/held"]));
  assert.equal(states(unclassed)["free"], "waste");
});

test("devices that share counters are one thing, and are never added up", () => {
  const cluster = [node("a"), ...partitionedGpu("a", "g0"), ...partitionedGpu("a", "g1"), whole, half];
  const empty = inventory(...cluster);
  assert.deepEqual(
    empty.units.map(({ state, devices }) => [state, devices.length]),
    [
      ["free", 3],
      ["free", 3],
    ],
  );
  assert.deepEqual([room(empty, "whole"), room(empty, "half")], [2, 4]);
  const used = inventory(
    ...cluster,
    heldClaim("h", ["a-g0/g0-half-0"], [], { exactly: { deviceClassName: "half" } }),
  );
  assert.deepEqual(
    used.units.map(({ state }) => state),
    ["partly", "free"],
  );
  assert.equal(states(used)["g0-whole"], "blocked");
  assert.deepEqual([room(used, "whole"), room(used, "half")], [1, 3]);
});

test("the rest of a device that no class can use is waste", () => {
  const held = heldClaim("h", ["a-g0/g0-half-0"], [], { exactly: { deviceClassName: "half" } });
  const found = inventory(node("a"), ...partitionedGpu("a", "g0"), whole, held);
  assert.deepEqual(
    found.units.map(({ state }) => state),
    ["waste"],
  );
  assert.equal(room(found, "whole"), 0);
});

test("headroom is the most that fits at once, also where the first solution stands in the way", () => {
  const any = deviceClass("any", 'device.driver == "gpu.example.com"');
  const found = inventory(node("a"), ...partitionedGpu("a", "g0"), ...partitionedGpu("a", "g1"), any);
  // The allocator's first choice is a whole GPU.
  assert.deepEqual(found.headroom(classShape("any")), {
    count: 4,
    isLowerBound: false,
    nodes: new Map([["a", 4]]),
  });
  // The query has no side effect.
  assert.equal(room(found, "any"), 4);
});

test("headroom of a template counts claims, on nodes that take pods", () => {
  const cluster = [
    ...[node("a"), node("b"), node("c", { spec: { unschedulable: true } })],
    ...["a", "b", "c"].map((name) => slice(name, 5)),
    ...[gpuClass, template("pair", { count: 2 }), template("admin", { adminAccess: true })],
  ];
  const namespace = { "resource.kubernetes.io/admin-access": "true" };
  const admin = { apiVersion: "v1", kind: "Namespace", metadata: { name: "default", labels: namespace } };
  const found = inventory(...cluster, admin, claim("waits"));
  const [, ofAdmin, ofPair] = found.shapes.map((shape) => found.headroom(shape));
  assert.deepEqual(
    [ofPair?.count, ofPair?.nodes],
    [
      4,
      new Map([
        ["a", 2],
        ["b", 2],
      ]),
    ],
  );
  assert.equal(ofAdmin, undefined);
});

test("devices that several nodes reach are counted once", () => {
  const network = slice("net", 3, {}, "net") as { spec: Record<string, unknown> };
  const { nodeName: _, ...spec } = network.spec;
  const shared = { ...network, spec: { ...spec, allNodes: true } };
  const found = inventory(node("a"), node("b"), shared, gpuClass);
  assert.equal(room(found, "gpu"), 3);
  assert.deepEqual(
    found.units.map(({ node }) => node),
    [undefined, undefined, undefined],
  );
});

test("a device that is shared is partly taken while capacity is left", () => {
  const shared = (left: string): Inventory =>
    inventory(
      node("a"),
      slice("a", [
        {
          name: "nic",
          allowMultipleAllocations: true,
          capacity: {
            bandwidth: { value: "10", requestPolicy: { default: "5", validRange: { min: "5" } } },
          },
        },
      ]),
      gpuClass,
      heldClaim("h", ["a/nic"], ["p"], {
        exactly: { capacity: { requests: { bandwidth: left } } },
        result: {
          shareID: "0a1b2c3d-0000-4000-8000-000000000000",
          consumedCapacity: { bandwidth: left },
        },
      }),
    );
  assert.equal(states(shared("5"))["nic"], "partly");
  assert.equal(room(shared("5"), "gpu"), 1);
  assert.equal(states(shared("10"))["nic"], "allocated");
});

/** A GPU of seven slices as partitions of all sizes, at each place where they can be. */
function slicedGpu(nodeName: string, gpu: string): Manifest[] {
  const slices = (from: number, count: number): object =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`slice-${from + i}`, { value: "1" }]));
  const partitions = [7, 4, 3, 2, 1].flatMap((size) =>
    Array.from({ length: 8 - size }, (_, from) => ({
      name: `${gpu}-${size}g-${from}`,
      attributes: { kind: { string: `${size}g` } },
      consumesCounters: [{ counterSet: gpu, counters: slices(from, size) }],
    })),
  );
  return counterPool(nodeName, gpu, slices(0, 7), partitions);
}

test("headroom over partitions of all sizes is exact: 56 on eight GPUs of seven slices", () => {
  const gpus = Array.from({ length: 8 }, (_, i) => slicedGpu("a", `g${i}`)).flat();
  const any = deviceClass("any", 'device.driver == "gpu.example.com"');
  const large = deviceClass("large", 'device.attributes["gpu.example.com"].kind in ["2g", "3g", "4g"]');
  const held = heldClaim("h", ["a-g0/g0-2g-1"], [], { exactly: { deviceClassName: "any" } });
  const found = inventory(node("a"), ...gpus, any, large);
  assert.deepEqual(found.headroom(classShape("any")), {
    count: 56,
    isLowerBound: false,
    nodes: new Map([["a", 56]]),
  });
  assert.equal(room(found, "large"), 24);
  // Slices 1 and 2 are in use: 0, and 3 to 6 are left.
  assert.deepEqual(
    ["any", "large"].map((name) => room(inventory(node("a"), ...gpus, any, large, held), name)),
    [7 * 7 + 5, 7 * 3 + 2],
  );
});

test("headroom of a template with several requests is that of the scarcest, and null without a limit", () => {
  const nics = [
    { name: "n0", allowMultipleAllocations: true, capacity: { rate: { value: "10" } } },
    { name: "n1", allowMultipleAllocations: true, capacity: { rate: { value: "10" } } },
  ];
  const nicSlice = slice("a", nics, {}, "nic") as { metadata: { name: string }; spec: { driver: string } };
  nicSlice.metadata.name = "a-nic";
  nicSlice.spec.driver = "nic.example.com";
  const classes = [
    deviceClass("gpus", 'device.driver == "gpu.example.com"'),
    deviceClass("nics", 'device.driver == "nic.example.com"'),
  ];
  const shape = (rate: string): Shape => ({
    ...classShape("both"),
    requests: [
      { name: "gpu", exactly: { deviceClassName: "gpus", allocationMode: "ExactCount", count: 2 } },
      {
        name: "nic",
        exactly: {
          deviceClassName: "nics",
          allocationMode: "ExactCount",
          count: 2,
          capacity: { requests: { rate } },
        },
      },
    ] as Shape["requests"],
  });
  const found = inventory(node("a"), slice("a", 9), nicSlice, ...classes);
  // Four pairs of GPUs; each claim has a share of both cards.
  assert.deepEqual(
    ["4", "5", "1"].map((rate) => found.headroom(shape(rate))?.count),
    [2, 2, 4],
  );
  const free = slice("b", [{ name: "nic", allowMultipleAllocations: true }]);
  assert.equal(inventory(node("b"), free, gpuClass).headroom(classShape("gpu")), undefined);
});
