import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { type Fleet, readFleet } from "../index.ts";

const text = readFileSync(join(import.meta.dirname, "testdata", "cluster.yaml"), "utf8");
const read = (changed = text): Fleet => readFleet([{ file: "cluster.yaml", text: changed }]);

test("the output of kubectl of a real cluster is a fleet with its nodes, drivers and classes", () => {
  const fleet = read();
  assert.deepEqual(
    fleet.nodes.map(({ name, labels, capacity, drivers }) => [
      name,
      Object.keys(labels).length,
      capacity,
      drivers.map((driver) => [driver.name, driver.pools.map((pool) => pool.name)]),
    ]),
    [
      [
        "gke-pool-a100-1f2e",
        2,
        // Without the extended resource, which a device plugin has brought.
        { cpu: "12", "ephemeral-storage": "98831908Ki", memory: "87065488Ki", pods: "110" },
        [
          ["gpu.nvidia.com", ["gke-pool-a100-1f2e"]],
          ["fabric.example.com", ["fabric"]],
        ],
      ],
      [
        "gke-pool-cpu-77aa",
        0,
        {},
        [
          ["dra.net", ["gke-pool-cpu-77aa"]],
          ["fabric.example.com", ["fabric"]],
        ],
      ],
    ],
  );
  assert.deepEqual(fleet.deviceClasses, [
    {
      metadata: { name: "gpu.nvidia.com" },
      spec: {
        extendedResourceName: "nvidia.com/gpu",
        selectors: [
          {
            cel: {
              expression:
                "device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == 'gpu'",
            },
          },
        ],
      },
    },
  ]);
  assert.deepEqual(fleet.notes, ["cluster.yaml: Pod (v1) is left aside: 1 object"]);
});

test("of a pool the newest generation counts, and what the server stamps is dropped", () => {
  const [gpu] = read().nodes[0]!.drivers[0]!.pools[0]!.devices;
  assert.equal(read().nodes[0]!.drivers[0]!.pools[0]!.devices.length, 1);
  assert.equal(gpu?.device.name, "gpu-0");
  assert.deepEqual(gpu.device.taints, [{ key: "gpu.nvidia.com/xid", value: "79", effect: "NoSchedule" }]);
  assert.deepEqual(gpu.device.capacity, { memory: { value: "40Gi" } });
});

test("slices of older versions of the API are read, and those of the network", () => {
  const fleet = read();
  const [eth0] = fleet.nodes[1]!.drivers[0]!.pools[0]!.devices;
  assert.deepEqual(eth0?.device.attributes, {
    "dra.net/ifName": { string: "eth0" },
    "dra.net/rdma": { bool: false },
  });
  const [pool] = fleet.network[0]!.pools;
  assert.deepEqual(pool?.reach, { allNodes: true });
  assert.deepEqual(
    [pool?.sharedCounters.map(({ name }) => name), pool?.devices.map(({ device }) => device.name)],
    [["switch"], ["link-0"]],
  );
});

test("a class for each driver is made of a dump without classes", () => {
  const fleet = read(
    text
      .replaceAll("kind: DeviceClass", "kind: ConfigMap")
      .replace(/resource.k8s.io\/v1(\n {2}kind: ConfigMap)/, "v1$1"),
  );
  assert.deepEqual(
    fleet.deviceClasses.map(({ metadata, spec }) => [metadata?.name, spec?.selectors?.[0]?.cel?.expression]),
    ["gpu.nvidia.com", "fabric.example.com", "dra.net"].map((name) => [name, `device.driver == "${name}"`]),
  );
});

test("JSON is read, too, a list of one kind among it", () => {
  const list = {
    kind: "ResourceSliceList",
    apiVersion: "resource.k8s.io/v1",
    items: [
      {
        metadata: { name: "a" },
        spec: {
          driver: "d.example.com",
          nodeName: "n1",
          pool: { name: "n1", generation: 1, resourceSliceCount: 1 },
          devices: [{ name: "x" }],
        },
      },
    ],
  };
  const fleet = readFleet([{ file: "slices.json", text: JSON.stringify(list) }]);
  assert.deepEqual(
    fleet.nodes.map(({ name, drivers }) => [name, drivers[0]?.pools[0]?.devices[0]?.device.name]),
    [["n1", "x"]],
  );
});

for (const [what, from, to, message] of [
  [
    "an incomplete pool is used, with a note",
    "resourceSliceCount: 2\n- apiVersion: v1",
    "resourceSliceCount: 2\n- apiVersion: v1",
    undefined,
  ],
  [
    "a device that no server would have",
    "value: 40Gi",
    "value: lots",
    /^cluster\.yaml:\d+: items\[2\]\.spec\.devices\[0\]: .*quantit/i,
  ],
  [
    "a driver with an impossible name",
    "driver: gpu.nvidia.com\n    nodeName: gke-pool-a100-1f2e\n    pool:\n      generation: 2",
    "driver: GPU\n    nodeName: gke-pool-a100-1f2e\n    pool:\n      generation: 2",
    /^cluster\.yaml:\d+: items\[2\]\.spec\.driver: "GPU" cannot name a driver: .*lower/,
  ],
  [
    "slices of one pool for different nodes",
    "    allNodes: true\n    devices:",
    "    nodeName: gke-pool-cpu-77aa\n    devices:",
    /^cluster\.yaml:\d+: items\[6\]: pool fabric of fabric\.example\.com has slices for different nodes: this one is for node gke-pool-cpu-77aa, ResourceSlice 00000-fabric\.example\.com-aaaaa for all nodes$/,
  ],
  [
    "a counter that no set has",
    '          ports:\n            value: "4"',
    '          wires:\n            value: "4"',
    /^cluster\.yaml:\d+: items\[6\]\.spec\.devices\[0\]: device link-0 consumes counter "wires", which set switch lacks: it has ports$/,
  ],
] as const)
  test(what, () => {
    assert.ok(text.includes(from));
    if (message === undefined) {
      const { notes } = read(text.replace("resourceSliceCount: 2", "resourceSliceCount: 3"));
      assert.deepEqual(
        notes,
        [
          "cluster.yaml: pool fabric of fabric.example.com is incomplete: 2 of 3 slices are given, and their devices are used",
          "cluster.yaml: Pod (v1) is left aside: 1 object",
        ].toSorted((a, b) => Number(a.includes("incomplete")) - Number(b.includes("incomplete"))),
      );
    } else assert.throws(() => read(text.replace(from, to)), { name: "FleetError", message });
  });
