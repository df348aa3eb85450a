import assert from "node:assert/strict";
import { test } from "node:test";
import type { AllocatedClaim, DeviceConfig, Pool } from "@dray/driver";
import { decodeGpuConfig, gpuDriver, klog, readEnvironment } from "./index.ts";

const signal = new AbortController().signal;

async function pools(nodeName: string, count: number): Promise<readonly Pool[]> {
  for await (const found of gpuDriver({ nodeName, count }).discover(signal)) return found;
  throw new Error("nothing was discovered");
}

test("GPUs have the names, attributes and capacity of the public example driver", async () => {
  const [pool] = await pools("node-a", 9);
  assert.deepEqual(
    pool!.devices.map(({ name }) => name),
    ["gpu-0", "gpu-1", "gpu-2", "gpu-3", "gpu-4", "gpu-5", "gpu-6", "gpu-7", "gpu-8"],
  );
  const { uuid, ...attributes } = pool!.devices[8]!.attributes!;
  assert.deepEqual(attributes, {
    index: { int: 8 },
    model: { string: "LATEST-GPU-MODEL" },
    driverVersion: { version: "1.0.0" },
  });
  assert.match(uuid!.string!, /^gpu-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/);
  assert.deepEqual(pool!.devices[8]!.capacity, { memory: { value: "80Gi" } });
});

test("a GPU's uuid is its own, and stays", async () => {
  const uuids = async (node: string) =>
    (await pools(node, 3))[0]!.devices.map(({ attributes }) => attributes!["uuid"]!.string!);
  assert.deepEqual(await uuids("node-a"), await uuids("node-a"));
  assert.equal(new Set([...(await uuids("node-a")), ...(await uuids("node-b"))]).size, 6);
});

const sharing = (strategy: string, more: object = {}) => ({
  apiVersion: "gpu.resource.example.com/v1alpha1",
  kind: "GpuConfig",
  sharing: { strategy, ...more },
});

async function env(device: string, configs: readonly DeviceConfig[] = [], adminAccess = false) {
  const allocated = {
    result: {
      request: "gpu",
      driver: "gpu.example.com",
      pool: "node-a",
      device,
      ...(adminAccess ? { adminAccess } : {}),
    },
    configs,
  };
  const claim = {
    uid: "the-uid",
    namespace: "default",
    name: "c",
    devices: [allocated],
  } as unknown as AllocatedClaim;
  const [answer] = await gpuDriver({ nodeName: "node-a", count: 12 }).prepare(claim, signal);
  return answer!.edits.env;
}

test("containers see their GPU, how it is shared, and for which claim", async () => {
  assert.deepEqual(await env("gpu-11"), [
    "GPU_DEVICE_11=gpu-11",
    "GPU_DEVICE_11_SHARING_STRATEGY=TimeSlicing",
    "GPU_DEVICE_11_TIMESLICE_INTERVAL=Default",
    "GPU_DEVICE_11_RESOURCE_CLAIM=the-uid",
    "DRA_ADMIN_ACCESS=false",
  ]);
  assert.equal((await env("gpu-0", [], true))!.at(-1), "DRA_ADMIN_ACCESS=true");
  await assert.rejects(env("gpu-12"), /there is no device gpu-12 on node-a/);
});

test("of several configurations the last wins, and all must be right", async () => {
  const long = sharing("TimeSlicing", { timeSlicingConfig: { interval: "Long" } });
  const space = sharing("SpacePartitioning", { spacePartitioningConfig: { partitionCount: 10 } });
  const both = (a: unknown, b: unknown): DeviceConfig[] => [
    { source: "FromClass", parameters: a },
    { source: "FromClaim", parameters: b },
  ];
  assert.deepEqual((await env("gpu-0", both(long, space)))!.slice(1, 3), [
    "GPU_DEVICE_0_SHARING_STRATEGY=SpacePartitioning",
    "GPU_DEVICE_0_PARTITION_COUNT=10",
  ]);
  assert.deepEqual((await env("gpu-0", both(space, long)))!.slice(1, 3), [
    "GPU_DEVICE_0_SHARING_STRATEGY=TimeSlicing",
    "GPU_DEVICE_0_TIMESLICE_INTERVAL=Long",
  ]);
  await assert.rejects(env("gpu-0", both({ kind: "Other" }, long)), /GpuConfig apiVersion/);
});

test("GpuConfig: defaults, and what is wrong by name", () => {
  const head = { apiVersion: "gpu.resource.example.com/v1alpha1", kind: "GpuConfig" };
  assert.deepEqual(decodeGpuConfig(head), { strategy: "TimeSlicing", interval: "Default" });
  assert.deepEqual(decodeGpuConfig(sharing("SpacePartitioning")), {
    strategy: "SpacePartitioning",
    partitionCount: 1,
  });
  const cases: [unknown, string][] = [
    ["text", 'GpuConfig: "text" must be an object'],
    [
      { ...head, apiVersion: "v1" },
      'GpuConfig apiVersion: "v1" is not supported, supported are "gpu.resource.example.com/v1alpha1"',
    ],
    [
      { ...head, kind: "NetConfig" },
      'GpuConfig kind: "NetConfig" is not supported, supported are "GpuConfig"',
    ],
    [{ ...head, colour: 1 }, "GpuConfig colour: unknown field; known are apiVersion, kind, sharing"],
    [
      sharing("Fair"),
      'GpuConfig sharing.strategy: "Fair" is not supported, supported are "TimeSlicing", "SpacePartitioning"',
    ],
    [
      sharing("TimeSlicing", { timeSlicingConfig: { interval: "Never" } }),
      'GpuConfig sharing.timeSlicingConfig.interval: "Never" is not supported, supported are "Default", "Short", "Medium", "Long"',
    ],
    [
      sharing("SpacePartitioning", { spacePartitioningConfig: { partitionCount: 0 } }),
      "GpuConfig sharing.spacePartitioningConfig.partitionCount: 0 must be a positive integer",
    ],
    [
      sharing("TimeSlicing", { spacePartitioningConfig: { partitionCount: 1 } }),
      "GpuConfig sharing.spacePartitioningConfig: cannot be used with strategy TimeSlicing",
    ],
  ];
  for (const [parameters, message] of cases) assert.throws(() => decodeGpuConfig(parameters), { message });
});

test("the log looks as Kubernetes' components write it", () => {
  const lines: string[] = [];
  const now = new Date(2025, 7, 20, 18, 17, 44, 131).getTime();
  const log = klog({ now: () => now, after: () => () => {} }, (line) => void lines.push(line));
  log.info({}, "PrepareResourceClaims is called: number of claims: 1");
  log.error({ claim: "a/b", count: 2, error: new Error("hot") }, "it failed");
  log.debug({}, "left out");
  const pid = String(process.pid).padStart(7);
  assert.equal(lines.length, 2);
  assert.match(
    lines[0]!,
    new RegExp(
      `^I0820 18:17:44\\.131000 ${pid} example\\.test\\.ts:\\d+\\] PrepareResourceClaims is called: number of claims: 1\n$`,
    ),
  );
  assert.match(lines[1]!, /^E0820 .*\] "it failed" claim="a\/b" count="2" error="hot"\n$/);
});

test("the environment: names and defaults of the public example driver, mistakes by name", () => {
  assert.deepEqual(readEnvironment({ NODE_NAME: "node-a" }), {
    nodeName: "node-a",
    deviceCount: 8,
    driverName: "gpu.example.com",
    registrarDirectory: "/var/lib/kubelet/plugins_registry",
    pluginsDirectory: "/var/lib/kubelet/plugins",
    cdiDirectory: "/etc/cdi",
  });
  assert.deepEqual(
    readEnvironment({
      NODE_NAME: "node-a",
      NUM_DEVICES: "9",
      HEALTHCHECK_PORT: "51515",
      DRAY_POD_IP: "127.1.2.3",
      CDI_ROOT: "/c",
      KUBELET_REGISTRAR_DIRECTORY_PATH: "/r",
      KUBELET_PLUGINS_DIRECTORY_PATH: "/p",
      POD_UID: "pod",
      DRIVER_NAME: "other.example.com",
    }),
    {
      nodeName: "node-a",
      deviceCount: 9,
      driverName: "other.example.com",
      registrarDirectory: "/r",
      pluginsDirectory: "/p",
      cdiDirectory: "/c",
      podUID: "pod",
      healthcheck: { host: "127.1.2.3", port: 51515 },
    },
  );
  assert.throws(() => readEnvironment({}), /NODE_NAME must be/);
  assert.throws(
    () => readEnvironment({ NODE_NAME: "a", NUM_DEVICES: "many" }),
    /NUM_DEVICES "many" must be an integer from 0 to 100000/,
  );
  assert.throws(() => readEnvironment({ NODE_NAME: "a", DEVICE_PROFILE: "net" }), /"net" is not supported/);
});
