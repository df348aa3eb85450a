import assert from "node:assert/strict";
import { existsSync, mkdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import type { Pod } from "@dray/api/core/v1";
import type { ContainerAllocateResponse } from "@dray/rpc/deviceplugin/v1beta1";
import { eventuallyPasses } from "@dray/testing/eventually";
import { device, testPlugin } from "../testing/device-plugin.ts";
import {
  admit,
  container,
  gpu,
  ids,
  podOf,
  refused,
  simplePod,
  start,
  testNode,
  waits,
} from "../testing/device-plugin-node.ts";

test("the start deletes sockets and nothing else; a wrong registration is refused in the kubelet's words", async (t) => {
  const node = await testNode(t);
  assert.equal(statSync(node.directory).mode & 0o777, 0o750);
  const left = await testPlugin({ directory: node.directory, name: "left.sock" });
  t.after(() => left.close());
  writeFileSync(join(node.directory, "notes"), "text");
  mkdirSync(join(node.directory, "folder"));
  await node.restart();
  assert.deepEqual(
    ["left.sock", "notes", "folder", "kubelet.sock"].map((name) => existsSync(join(node.directory, name))),
    [false, true, true, true],
  );

  const plugin = await testPlugin({ directory: node.directory });
  t.after(() => plugin.close());
  const says = (detail: string | RegExp) => ({ name: "RpcError", code: "Unknown", detail });
  await assert.rejects(
    plugin.register(gpu, "v1alpha"),
    says('requested API version "v1alpha" is not supported by kubelet. Supported version is ["v1beta1"]'),
  );
  for (const name of [
    "gpu",
    "kubernetes.io/gpu",
    "requests.example.com/gpu",
    "example.com/",
    "x".repeat(1e6),
  ])
    await assert.rejects(plugin.register(name), says(/^the ResourceName ".{0,110}" is invalid/s));

  const outside = join(node.paths.kubelet, "outside.sock");
  const other = createServer().listen(outside);
  t.after(() => other.close());
  symlinkSync(outside, join(node.directory, "link.sock"));
  symlinkSync("..", join(node.directory, "up"));
  for (const [name, problem] of [
    [
      "../outside.sock",
      /^endpoint "\.\.\/outside\.sock" leads out of the folder; it must be the name of a socket/,
    ],
    ["up/outside.sock", /^endpoint "up\/outside\.sock" leads out of the folder/],
    ["link.sock", /^endpoint "link\.sock" is not a socket/],
    ["notes", /^endpoint "notes" is not a socket/],
    ["", /^endpoint "" is invalid/],
  ] as const)
    await assert.rejects(plugin.register(gpu, "v1beta1", name), says(problem));
  assert.deepEqual(node.manager.resources(), { capacity: {}, allocatable: {} });

  // A plugin may register before it serves.
  const late = plugin.register(gpu, "v1beta1", "late.sock");
  await new Promise((resolve) => setTimeout(resolve, 100));
  const serving = await testPlugin({ directory: node.directory, name: "late.sock", devices: [device("a")] });
  t.after(() => serving.close());
  await late;
  await eventuallyPasses(async () => assert.deepEqual(node.manager.resources().capacity, { [gpu]: "1" }));
});

test("the Node has all devices as capacity and healthy ones as allocatable, and 0 five minutes after the plugin went", async (t) => {
  const node = await testNode(t);
  const plugin = await node.plugin({ devices: [device("a"), device("b"), device("c", 0, "Unhealthy")] });
  const says = (capacity: string, allocatable: string) =>
    eventuallyPasses(async () =>
      assert.deepEqual(node.manager.resources(), {
        capacity: { [gpu]: capacity },
        allocatable: { [gpu]: allocatable },
      }),
    );
  await says("3", "2");
  assert.equal(node.changes, 1);
  plugin.report([device("a"), device("b"), device("c", 0)]);
  await says("3", "3");
  assert.equal(node.changes, 2);
  plugin.report([device("a")]);
  await says("1", "1");

  plugin.endStreams();
  await says("1", "0");
  const { changes } = node;
  node.clock.push(299_000);
  await says("1", "0");
  node.clock.push(1001);
  await says("0", "0");
  assert.equal(node.changes, changes + 1);
  await plugin.register(gpu);
  await says("1", "1");
  // An update: the second instance is connected before the first one ends.
  const second = await node.plugin({ name: "second.sock", devices: [device("a"), device("b")] });
  await says("2", "2");
  plugin.report([device("a"), device("b"), device("c")]);
  plugin.endStreams();
  await new Promise((resolve) => setTimeout(resolve, 100));
  await says("2", "2");
  second.report([]);
  await says("0", "0");
});

test("a container gets what the plugin answers; of two that disagree the first stays, and the log says so", async (t) => {
  const node = await testNode(t);
  const full: ContainerAllocateResponse = {
    envs: { DEVICES: "a", SHARED: "gpu" },
    mounts: [{ containerPath: "/lib/gpu", hostPath: "/var/lib/gpu", readOnly: true }],
    devices: [{ containerPath: "/dev/gpu0", hostPath: "/dev/null", permissions: "rw" }],
    annotations: { note: "gpu" },
    cdiDevices: [{ name: "example.com/gpu=a" }],
  };
  const plugin = await node.plugin({ devices: [device("a")] });
  plugin.allocate = () => full;
  const nic = await node.plugin({ name: "nic.sock", devices: [device("n")] }, "example.com/nic");
  nic.allocate = () => ({
    envs: { SHARED: "nic", NIC: "n" },
    mounts: [{ containerPath: "/lib/gpu", hostPath: "/dev/zero", readOnly: false }],
    devices: [
      { containerPath: "/dev/gpu0", hostPath: "/dev/zero", permissions: "r" },
      { containerPath: "/dev/nic", hostPath: "/dev/zero", permissions: "" },
    ],
    annotations: { note: "nic", nic: "n" },
    cdiDevices: [{ name: "example.com/gpu=a" }, { name: "example.com/nic=n" }],
  });
  const pod = podOf("p", [container("main", { "example.com/nic": "1", [gpu]: "1" }), container("plain", {})]);
  await admit(node, pod);
  assert.deepEqual(await start(node, pod), {
    env: [
      ["DEVICES", "a"],
      ["SHARED", "gpu"],
      ["NIC", "n"],
    ],
    mounts: [{ containerPath: "/lib/gpu", hostPath: join(node.paths.root, "var/lib/gpu"), readOnly: true }],
    devices: [
      { containerPath: "/dev/gpu0", hostPath: "/dev/null", permissions: "rw" },
      { containerPath: "/dev/nic", hostPath: "/dev/zero", permissions: "rwm" },
    ],
    annotations: { note: "gpu", nic: "n" },
    cdiDevices: ["example.com/gpu=a", "example.com/nic=n"],
  });
  assert.deepEqual(
    node.lines.map(({ fields, message }) => [/about an (.*):/.exec(message)?.[1], fields["key"]]),
    [
      ["environment variable", "SHARED"],
      ["device", "/dev/gpu0"],
      ["mount", "/lib/gpu"],
      ["annotation", "note"],
    ],
  );
  const empty = { env: [], mounts: [], devices: [], annotations: {}, cdiDevices: [] };
  assert.deepEqual(await start(node, pod, "plain"), empty);
});

test("a failed allocation rejects the pod with the kubelet's message, and holds no devices", async (t) => {
  const node = await testNode(t);
  const plugin = await node.plugin({ devices: [device("a"), device("b")] });
  await assert.rejects(
    admit(node, simplePod("p1", 3)),
    refused("requested number of devices unavailable for example.com/gpu. Requested: 3, Available: 2"),
  );
  await admit(node, simplePod("p2", 1));
  await assert.rejects(
    admit(node, simplePod("p3", 2)),
    refused("requested number of devices unavailable for example.com/gpu. Requested: 2, Available: 1"),
  );
  plugin.allocate = () => Promise.reject(new Error("no power"));
  await assert.rejects(admit(node, simplePod("p4", 1)), refused("rpc error: code = Unknown desc = no power"));
  plugin.allocate = () => ({});
  // The second container fails, and the device of the first one is freed.
  const two = podOf("p5", [container("one", { [gpu]: "1" }), container("two", { [gpu]: "1" })]);
  await assert.rejects(admit(node, two), /Requested: 1, Available: 0/);
  await admit(node, simplePod("p6", 1));
  node.manager.release("p2");
  await admit(node, simplePod("p7", 1));
  plugin.report([device("a", 0, "Unhealthy"), device("b", 0, "Unhealthy")]);
  await eventuallyPasses(async () => assert.equal(node.manager.resources().allocatable[gpu], "0"));
  await assert.rejects(
    admit(node, simplePod("p8", 1)),
    refused("no healthy devices present; cannot allocate unhealthy devices example.com/gpu"),
  );
  // Cluster-level resources have no plugin.
  await admit(node, simplePod("p9", 1, "example.com/licence"));
  // The plugin is gone for good while a pod holds its devices.
  plugin.endStreams();
  await eventuallyPasses(async () =>
    assert.equal(node.manager.health("p7", "main")[0]?.resources?.[0]?.health, "Unknown"),
  );
  node.clock.push(300_001);
  await assert.rejects(
    admit(node, simplePod("p10", 1)),
    refused("cannot allocate unregistered device example.com/gpu"),
  );
  assert.deepEqual(node.manager.allocatableFor("p7", { cpu: "1", [gpu]: "0" }), { cpu: "1", [gpu]: "2" });
  assert.deepEqual(node.manager.allocatableFor("p11", { [gpu]: "0" }), { [gpu]: "0" });
});

test("containers use the devices of init containers again, but not those of sidecars", async (t) => {
  const node = await testNode(t);
  const plugin = await node.plugin({ devices: [device("a"), device("b"), device("c")] });
  const pod = podOf(
    "p",
    [container("main", { [gpu]: "2" })],
    [
      container("first", { [gpu]: "1" }),
      container("second", { [gpu]: "2" }),
      container("side", { [gpu]: "1" }, { restartPolicy: "Always" }),
    ],
  );
  await admit(node, pod);
  assert.deepEqual(
    ["first", "second", "side", "main"].map((name) => ids(node, pod, name)),
    ["a", "a,b", "a", "b,c"],
  );
  assert.equal(plugin.calls.length, 4);
  await assert.rejects(admit(node, simplePod("q", 1)), /Requested: 1, Available: 0/);
});

test("devices of claims behind extended resources are not the plugin's", async (t) => {
  const node = await testNode(t);
  const plugin = await node.plugin({ devices: [device("a")] });
  const pod: Pod = {
    ...podOf("p", [container("main", { [gpu]: "4" }), container("other", { [gpu]: "1" })]),
    status: {
      extendedResourceClaimStatus: {
        resourceClaimName: "p-claim",
        requestMappings: [{ containerName: "main", resourceName: gpu, requestName: "r" }],
      },
    },
  };
  await admit(node, pod);
  assert.deepEqual(plugin.calls, ["allocate a"]);
  assert.equal(ids(node, pod), "");
  assert.equal(ids(node, pod, "other"), "a");
});

test("the plugin's preference counts, and NUMA nodes where the policy says so", async (t) => {
  const devices = [device("a", 0), device("b", 1), device("c", 1), device("d", [0, 1])];
  const node = await testNode(t, { topologyPolicy: "best-effort" });
  const plugin = await node.plugin({ devices, getPreferredAllocationAvailable: true });
  plugin.preferred = () => ["c", "a"];
  const pod = simplePod("p", 1);
  await admit(node, pod);
  assert.deepEqual(plugin.calls, ["preferred 1 of a,d", "allocate a"]);
  const pair = simplePod("q", 2);
  await admit(node, pair);
  assert.deepEqual(plugin.calls.slice(2), ["preferred 2 of b,c,d", "allocate c,b"]);
  assert.deepEqual(node.manager.devices("q", "main"), [
    { resource: gpu, id: "c", numaNode: 1 },
    { resource: gpu, id: "b", numaNode: 1 },
  ]);
  assert.deepEqual(node.manager.allocatable(), [
    { resource: gpu, id: "a", numaNode: 0 },
    { resource: gpu, id: "b", numaNode: 1 },
    { resource: gpu, id: "c", numaNode: 1 },
    { resource: gpu, id: "d", numaNode: 0 },
    { resource: gpu, id: "d", numaNode: 1 },
  ]);
});

test("registrations and allocations are counted, and those that fail are allocations too", async (t) => {
  const node = await testNode(t);
  const plugin = await node.plugin({ devices: [device("a"), device("b")] });
  await admit(node, simplePod("p", 1));
  plugin.allocate = () => Promise.reject(new Error("not now"));
  await assert.rejects(admit(node, simplePod("q", 1)));
  await assert.rejects(plugin.register("no domain"));
  await plugin.register(gpu);
  const lines = node.manager.metrics().split("\n");
  for (const line of [
    "# TYPE kubelet_device_plugin_registration_total counter",
    `kubelet_device_plugin_registration_total{resource_name="${gpu}"} 2`,
    "# TYPE kubelet_device_plugin_alloc_duration_seconds histogram",
    `kubelet_device_plugin_alloc_duration_seconds_bucket{resource_name="${gpu}",le="+Inf"} 2`,
    `kubelet_device_plugin_alloc_duration_seconds_count{resource_name="${gpu}"} 2`,
  ])
    assert.ok(lines.includes(line), `${line} in ${lines.join("\n")}`);
  assert.ok(!lines.some((line) => line.includes("no domain")));
});

test("PreStartContainer is called before every start of a container, and its failure holds the container up", async (t) => {
  const node = await testNode(t);
  const plugin = await node.plugin({ devices: [device("a")], preStartRequired: true });
  const pod = simplePod("p", 1);
  await admit(node, pod);
  await start(node, pod);
  await start(node, pod);
  assert.deepEqual(plugin.calls, ["allocate a", "preStart a", "preStart a"]);
  plugin.preStart = () => Promise.reject(new Error("not yet"));
  await assert.rejects(
    start(node, pod),
    waits("device plugin PreStartContainer rpc failed with err: rpc error: code = Unknown desc = not yet"),
  );
  plugin.endStreams();
  await eventuallyPasses(async () => assert.equal(node.manager.resources().allocatable[gpu], "0"));
  await assert.rejects(
    start(node, pod),
    waits(/endpoint of device plugin example\.com\/gpu has been stopped/),
  );
});
