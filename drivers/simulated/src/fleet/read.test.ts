import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { readFleet } from "../index.ts";
import { devicesOf, header, names, read, withDevices } from "./testing.ts";

test("eight equal GPUs are three lines", () => {
  const fleet = withDevices(`
    [{name: "gpu-{index}", count: 8,
      attributes: {model: H100, index: {int: "{index}"}, fast: true, id: "{node}/{index:02x}", v: {version: 1.2.3}, l: [1, 2]},
      capacity: {memory: 80Gi, cores: 132}, numaNode: "{index/4}", pcieRoot: "pci0000:{index*16+16:02x}"}]`);
  assert.equal(devicesOf(fleet).length, 8);
  assert.deepEqual(devicesOf(fleet)[5]?.device, {
    name: "gpu-5",
    attributes: {
      model: { string: "H100" },
      index: { int: 5 },
      fast: { bool: true },
      id: { string: "n1/05" },
      v: { version: "1.2.3" },
      l: { ints: [1, 2] },
      "resource.kubernetes.io/numaNode": { int: 1 },
      "resource.kubernetes.io/pcieRoot": { string: "pci0000:60" },
    },
    capacity: { memory: { value: "80Gi" }, cores: { value: "132" } },
  });
});

test("a device keeps its uuid, and no other has the same", () => {
  const ids = (): unknown[] =>
    devicesOf(withDevices(`[{name: "gpu-{index}", count: 3, attributes: {uuid: "GPU-{uuid}"}}]`)).map(
      ({ device }) => device.attributes?.["uuid"]?.string,
    );
  assert.equal(new Set(ids()).size, 3);
  assert.deepEqual(ids(), ids());
  assert.match(String(ids()[0]), /^GPU-[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/);
});

test("partitions share the counters of their device, and sit where it does", () => {
  const fleet = withDevices(`
    [{name: "gpu-{index}", count: 2, counters: {memory: 80Gi}, numaNode: 1, prepareDelay: 1s,
      partitions: [{name: "{device}-part-{index}", count: 2, counters: {memory: 40Gi}, attributes: {of: "{deviceIndex}"}}]}]`);
  assert.deepEqual(names(fleet), [
    "gpu-0",
    "gpu-0-part-0",
    "gpu-0-part-1",
    "gpu-1",
    "gpu-1-part-0",
    "gpu-1-part-1",
  ]);
  const pool = fleet.nodes[0]!.drivers[0]!.pools[0]!;
  assert.deepEqual(pool.sharedCounters, [
    { name: "gpu-0-counters", counters: { memory: { value: "80Gi" } } },
    { name: "gpu-1-counters", counters: { memory: { value: "80Gi" } } },
  ]);
  const part = pool.devices[5]!;
  assert.equal(part.partitionOf, "gpu-1");
  assert.equal(part.behaviour.prepareDelay, 1000);
  assert.deepEqual(part.device, {
    name: "gpu-1-part-1",
    attributes: { "resource.kubernetes.io/numaNode": { int: 1 }, of: { string: "1" } },
    consumesCounters: [{ counterSet: "gpu-1-counters", counters: { memory: { value: "40Gi" } } }],
  });
  assert.deepEqual(pool.devices[3]!.device.consumesCounters, [
    { counterSet: "gpu-1-counters", counters: { memory: { value: "80Gi" } } },
  ]);
});

test("links give devices an attribute in common; one of several groups has a list", () => {
  const fleet = withDevices(
    `[{name: "gpu-{index}", count: 3}]`,
    `, links: {nvlink: {"{node}-a": [gpu-0, gpu-1], b: ["gpu-*"]}}`,
  );
  assert.deepEqual(
    devicesOf(fleet).map(({ device }) => device.attributes?.["nvlink"]),
    [{ strings: ["n1-a", "b"] }, { strings: ["n1-a", "b"] }, { string: "b" }],
  );
});

test("the behaviour of a device: delays, failures, health, conditions and CDI edits", () => {
  const [device] = devicesOf(
    withDevices(`
    [{name: gpu-0, prepareDelay: 1m30s, prepareFails: {times: 2, message: no firmware}, binds: {after: 5s},
      cleanUp: 2s, bindingConditions: [a], bindingFailureConditions: [b], bindsToNode: true,
      health: [{after: 30s, health: Unhealthy, message: hot}, {after: 1h, health: Healthy}],
      unhealthyTaint: {key: example.com/hot, effect: NoExecute},
      env: {COLOUR: red}, cdi: {env: [SHAPE=round], mounts: [{hostPath: /a, containerPath: /b}]}}]`),
  );
  assert.deepEqual(device?.behaviour, {
    prepareDelay: 90_000,
    prepareFails: { times: 2, message: "no firmware" },
    binds: { after: 5000 },
    cleanUp: 2000,
    health: [
      { after: 30_000, health: "Unhealthy", message: "hot" },
      { after: 3_600_000, health: "Healthy" },
    ],
    unhealthyTaint: { key: "example.com/hot", effect: "NoExecute" },
    edits: { env: ["SHAPE=round", "COLOUR=red"], mounts: [{ hostPath: "/a", containerPath: "/b" }] },
  });
  const plain = devicesOf(withDevices("[{name: gpu-0, prepareFails: true}]"))[0]!.behaviour;
  assert.deepEqual(plain.prepareFails, { message: "simulated failure" });
  assert.deepEqual(plain.unhealthyTaint, {
    key: "gpu.example.com/unhealthy",
    value: "true",
    effect: "NoSchedule",
  });
});

test("nodes are named one by one, counted, listed, and matched by patterns; several documents add up", () => {
  const text = `${header}
nodes:
  - {name: "gpu-{index}", count: 2, labels: {zone: "z{nodeIndex}"}, capacity: {cpu: 64}}
  - {names: [cpu-0, cpu-1]}
---
${header}
nodes:
  - {pattern: "gpu-*", labels: {kind: gpu}, drivers: [{driver: gpu.example.com, pools: [{devices: [{name: a}]}]}]}
network:
  - {driver: net.example.com, pools: [{name: fabric, allNodes: true, devices: [{name: link}]}]}
deviceClasses:
  - {name: gpu, selectors: ['device.driver == "gpu.example.com"'], extendedResourceName: example.com/gpu}
`;
  const fleet = readFleet([{ file: "fleet.yaml", text }]);
  assert.deepEqual(
    fleet.nodes.map(({ name, labels, capacity, drivers }) => [
      name,
      labels,
      capacity,
      drivers.map((driver) => driver.name),
    ]),
    [
      ["gpu-0", { zone: "z0", kind: "gpu" }, { cpu: "64" }, ["gpu.example.com", "net.example.com"]],
      ["gpu-1", { zone: "z1", kind: "gpu" }, { cpu: "64" }, ["gpu.example.com", "net.example.com"]],
      ["cpu-0", {}, {}, ["net.example.com"]],
      ["cpu-1", {}, {}, ["net.example.com"]],
    ],
  );
  assert.equal(fleet.node("gpu-17")?.drivers[0]?.pools[0]?.name, "gpu-17", "a node that a pattern matches");
  assert.equal(fleet.node("tpu-0"), undefined);
  assert.deepEqual(fleet.deviceClasses, [
    {
      metadata: { name: "gpu" },
      spec: {
        selectors: [{ cel: { expression: 'device.driver == "gpu.example.com"' } }],
        extendedResourceName: "example.com/gpu",
      },
    },
  ]);
});

test("every example is a fleet", () => {
  const folder = join(import.meta.dirname, "../../../../examples/fleet");
  const files = readdirSync(folder);
  assert.ok(files.length >= 3);
  for (const file of files) {
    const fleet = readFleet([{ file, text: readFileSync(join(folder, file), "utf8") }]);
    assert.ok(fleet.nodes.length > 0, file);
  }
});

test("nodes are simulated where an entry about them says so, or all", () => {
  const text = `${header}nodes:
  - { names: [a, b] }
  - { pattern: "b*", simulated: true }
  - { name: c, simulated: true }
`;
  const simulated = (options: object): string[] =>
    readFleet([{ file: "f.yaml", text }], options)
      .nodes.filter((node) => node.simulated)
      .map(({ name }) => name);
  assert.deepEqual(simulated({}), ["b", "c"]);
  assert.deepEqual(simulated({ simulatedNodes: ["bb", "d"] }), ["b", "c", "bb", "d"]);
  assert.deepEqual(simulated({ simulateAll: true }), ["a", "b", "c"]);
  assert.throws(
    () => read('nodes: [{ name: a, simulated: "yes" }]'),
    /nodes\[0\]\.simulated: "yes" must be true or false/,
  );
});
