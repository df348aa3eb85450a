import assert from "node:assert/strict";
import { test } from "node:test";
import { type ClaimOptions, startDriverNode } from "@dray/driver/testing";
import { exampleDriver, type GpuOptions, gpuProfile } from "../index.ts";

const devicesOf = (nodeName: string, options: GpuOptions) => gpuProfile(nodeName, options).pool.devices;

test("GPUs have the names, attributes and capacity of the public example driver", () => {
  const devices = devicesOf("node-a", { count: 9 });
  assert.deepEqual(
    devices.map(({ name }) => name),
    ["gpu-0", "gpu-1", "gpu-2", "gpu-3", "gpu-4", "gpu-5", "gpu-6", "gpu-7", "gpu-8"],
  );
  const { uuid, ...attributes } = devices[8]!.attributes!;
  assert.deepEqual(attributes, {
    index: { int: 8 },
    model: { string: "LATEST-GPU-MODEL" },
    driverVersion: { version: "1.0.0" },
  });
  assert.match(uuid!.string!, /^gpu-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/);
  assert.deepEqual(devices[8]!.capacity, { memory: { value: "80Gi" }, compute: { value: "100" } });
});

test("a GPU's uuid is its own, and stays", () => {
  const uuids = (node: string) =>
    devicesOf(node, { count: 3 }).map(({ attributes }) => attributes!["uuid"]!.string!);
  assert.deepEqual(uuids("node-a"), uuids("node-a"));
  assert.equal(new Set([...uuids("node-a"), ...uuids("node-b")]).size, 6);
});

test("partitions consume the counters of their GPU, and so does the whole of it", () => {
  const { devices, sharedCounters } = gpuProfile("node-a", { count: 2, partitions: 4 }).pool;
  assert.deepEqual(
    devices.map(({ name }) => name),
    [0, 1].flatMap((gpu) => [
      ...[0, 1, 2, 3].map((partition) => `gpu-${gpu}-partition-${partition}`),
      `gpu-${gpu}-full`,
    ]),
  );
  const counters = { memory: { value: "80Gi" }, compute: { value: "100" } };
  assert.deepEqual(sharedCounters, [
    { name: "gpu-0-counters", counters },
    { name: "gpu-1-counters", counters },
  ]);
  const quarter = { memory: { value: "20Gi" }, compute: { value: "25" } };
  const [partition, full] = [devices[6]!, devices[9]!];
  assert.deepEqual(partition.consumesCounters, [{ counterSet: "gpu-1-counters", counters: quarter }]);
  assert.deepEqual(partition.capacity, quarter);
  assert.deepEqual(
    [
      partition.attributes!["partition"],
      partition.attributes!["partitionable"],
      partition.attributes!["index"],
    ],
    [{ int: 1 }, { bool: true }, { int: 1 }],
  );
  assert.deepEqual(full.consumesCounters, [{ counterSet: "gpu-1-counters", counters }]);
  assert.deepEqual(full.capacity, counters);
  assert.deepEqual(
    [full.attributes!["full"], full.attributes!["partition"], full.attributes!["partitionable"]],
    [{ bool: true }, undefined, { bool: true }],
  );
});

test("GPUs of several claims: any part in whole steps; the default and the maximum are whole steps too", () => {
  const [whole] = devicesOf("node-a", { count: 1, allowMultipleAllocations: true });
  assert.equal(whole!.allowMultipleAllocations, true);
  assert.deepEqual(whole!.capacity, {
    memory: {
      value: "80Gi",
      requestPolicy: { default: "80Gi", validRange: { min: "1Gi", max: "80Gi", step: "1Gi" } },
    },
    compute: {
      value: "100",
      requestPolicy: { default: "100", validRange: { min: "1", max: "100", step: "1" } },
    },
  });
  const [third] = devicesOf("node-a", { count: 1, partitions: 3, allowMultipleAllocations: true });
  assert.deepEqual(third!.capacity!["memory"], {
    value: "28633115306",
    requestPolicy: { default: "26Gi", validRange: { min: "1Gi", max: "26Gi", step: "1Gi" } },
  });
});

test("binding conditions", () => {
  for (const device of devicesOf("node-a", { count: 1, partitions: 1, bindingConditions: true })) {
    assert.deepEqual(device.bindingConditions, ["BindingConditions"]);
    assert.deepEqual(device.bindingFailureConditions, ["BindingFailureConditions"]);
  }
});

const sharing = (strategy: string, more: object = {}) => ({
  parameters: {
    apiVersion: "gpu.resource.example.com/v1alpha1",
    kind: "GpuConfig",
    sharing: { strategy, ...more },
  },
});

/** Returns the variables of a container with the claim, without the claim's UID. */
async function env(claim: ClaimOptions, options: GpuOptions = { count: 12 }, request?: string) {
  const profile = gpuProfile("node-1", options);
  const node = await startDriverNode(() => exampleDriver({ nodeName: "node-1", profile }));
  try {
    const made = await node.claim(claim);
    const { env } = await (await made.prepare()).container(request);
    const entries = Object.entries(env).map(([name, value]) => `${name}=${value}`);
    return entries.slice(2).map((entry) => entry.replace(made.claim.metadata.uid, "<uid>"));
  } finally {
    await node.close();
  }
}

test("containers see their GPU, how it is shared, and for which claim", async () => {
  assert.deepEqual(await env({ devices: [{ device: "gpu-11" }] }), [
    "GPU_DEVICE_11=gpu-11",
    "GPU_DEVICE_11_SHARING_STRATEGY=TimeSlicing",
    "GPU_DEVICE_11_TIMESLICE_INTERVAL=Default",
    "GPU_DEVICE_GPU_11_RESOURCE_CLAIM=<uid>",
    "DRA_ADMIN_ACCESS=false",
  ]);
  const admin = await env({ devices: [{ device: "gpu-0", adminAccess: true }, { device: "gpu-1" }] });
  assert.equal(admin.at(-1), "GPU_DEVICE_GPU_1_RESOURCE_CLAIM=<uid>");
  assert.ok(admin.includes("DRA_ADMIN_ACCESS=true"));
});

test("partitions and parts of a GPU have their names and amounts in the variables", async () => {
  const shareID = "1b671a64-40d5-491e-99b0-da01ff1f3341";
  const consumedCapacity = { memory: "8Gi", compute: "10" };
  const device = { device: "gpu-0-partition-1", shareID, consumedCapacity };
  const options = { count: 1, partitions: 4, allowMultipleAllocations: true };
  assert.deepEqual(await env({ devices: [device] }, options), [
    "GPU_DEVICE_0_PARTITION_1=gpu-0-partition-1",
    "GPU_DEVICE_0_PARTITION_1_SHARING_STRATEGY=TimeSlicing",
    "GPU_DEVICE_0_PARTITION_1_TIMESLICE_INTERVAL=Default",
    "GPU_DEVICE_0_PARTITION_1_MEMORY=8Gi",
    "GPU_DEVICE_0_PARTITION_1_COMPUTE=10",
    "GPU_DEVICE_GPU_0_PARTITION_1_RESOURCE_CLAIM=<uid>",
    "DRA_ADMIN_ACCESS=false",
  ]);
});

test("of several configurations the last wins, for a subrequest those of its request too", async () => {
  const long = sharing("TimeSlicing", { timeSlicingConfig: { interval: "Long" } });
  const space = sharing("SpacePartitioning", { spacePartitioningConfig: { partitionCount: 10 } });
  const devices = [{ device: "gpu-0", request: "gpu/small" }];
  const of = async (...config: NonNullable<ClaimOptions["config"]>) =>
    (await env({ devices, config })).slice(1, 3);
  const partitioned = ["GPU_DEVICE_0_SHARING_STRATEGY=SpacePartitioning", "GPU_DEVICE_0_PARTITION_COUNT=10"];
  const sliced = ["GPU_DEVICE_0_SHARING_STRATEGY=TimeSlicing", "GPU_DEVICE_0_TIMESLICE_INTERVAL=Long"];
  assert.deepEqual(await of({ ...long, source: "FromClass" }, space), partitioned);
  assert.deepEqual(await of(space, long), sliced);
  // The public driver compares with `gpu/small` only.
  assert.deepEqual(await of({ ...space, requests: ["gpu"] }), partitioned);
  assert.deepEqual(await of(long, { ...space, requests: ["gpu/large"] }), sliced);
  await assert.rejects(
    of({ parameters: { kind: "Other" } }, long),
    /opaque\.parameters: GpuConfig apiVersion/,
  );
});

test("after a reboot the specs of containers are written again", async () => {
  const profile = gpuProfile("node-1", { count: 1 });
  const node = await startDriverNode(() => exampleDriver({ nodeName: "node-1", profile }));
  try {
    const claim = await node.claim({ devices: [{ device: "gpu-0" }] });
    const before = await (await claim.prepare()).container();
    await node.reboot();
    await node.start();
    assert.deepEqual(await (await claim.prepare()).container(), before);
  } finally {
    await node.close();
  }
});
