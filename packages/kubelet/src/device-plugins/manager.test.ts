import assert from "node:assert/strict";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { Container, Pod } from "@dray/api/core/v1";
import { type Clock, type Log, silentLog, systemClock } from "@dray/client";
import type { ContainerAllocateResponse } from "@dray/rpc/deviceplugin/v1beta1";
import { NodePaths } from "../base/paths.ts";
import { DraPlugins } from "../dra/plugins.ts";
import { PluginWatcher } from "../dra/watcher.ts";
import { device, type TestPlugin, type TestPluginOptions, testPlugin } from "../testing/device-plugin.ts";
import { eventually } from "../testing/eventually.ts";
import { DevicePluginManager, type DevicePluginManagerOptions } from "./manager.ts";

const gpu = "example.com/gpu";

/** The system's time, which a test can push forward. */
class PushedClock implements Clock {
  #ahead = 0;
  readonly #timers = new Set<{ at: number; run: () => void; cancel: () => void }>();

  now(): number {
    return systemClock.now() + this.#ahead;
  }

  after(milliseconds: number, run: () => void): () => void {
    const timer = { at: this.now() + milliseconds, run, cancel: () => {} };
    timer.cancel = systemClock.after(milliseconds, () => this.#timers.delete(timer) && run());
    this.#timers.add(timer);
    return () => {
      this.#timers.delete(timer);
      timer.cancel();
    };
  }

  push(milliseconds: number): void {
    this.#ahead += milliseconds;
    for (const timer of [...this.#timers])
      if (timer.at <= this.now() && this.#timers.delete(timer)) {
        timer.cancel();
        timer.run();
      }
  }
}

interface Node {
  readonly manager: DevicePluginManager;
  readonly paths: NodePaths;
  readonly directory: string;
  readonly clock: PushedClock;
  readonly active: Set<string>;
  readonly lines: { message: string; fields: Record<string, unknown> }[];
  changes: number;
  retries: number;
  readonly healthChanges: string[];
  plugin(options?: Partial<TestPluginOptions>, resource?: string): Promise<TestPlugin>;
  /** Restarts the agent. `boot`: after a reboot. `kill`: without a close. */
  restart(options?: { boot?: string; kill?: boolean }): Promise<void>;
}

async function testNode(t: TestContext, options: Partial<DevicePluginManagerOptions> = {}): Promise<Node> {
  const paths = new NodePaths(mkdtempSync("/tmp/dp-"));
  paths.create();
  const clock = new PushedClock();
  const note: Log["warn"] = (fields, message) => node.lines.push({ message, fields: fields as never });
  const started: DevicePluginManager[] = [];
  t.after(async () => {
    for (const manager of started) await manager.close();
    rmSync(paths.root, { recursive: true });
  });
  const start = async (bootId: string): Promise<DevicePluginManager> => {
    const manager = new DevicePluginManager({
      paths,
      clock,
      log: { ...silentLog, warn: note, error: note },
      bootId,
      isActive: (uid) => node.active.has(uid),
      changed: () => node.changes++,
      retry: () => node.retries++,
      healthChanged: (uids) => node.healthChanges.push(...uids),
      ...options,
    });
    started.push(manager);
    await manager.start();
    return manager;
  };
  let boot = "boot-1";
  const node: Omit<Node, "manager"> & { manager: DevicePluginManager } = {
    manager: undefined as never,
    paths,
    directory: join(paths.kubelet, "device-plugins"),
    clock,
    active: new Set(),
    lines: [],
    changes: 0,
    retries: 0,
    healthChanges: [],
    async plugin(pluginOptions = {}, resource = gpu) {
      const plugin = await testPlugin({ directory: node.directory, ...pluginOptions });
      t.after(() => plugin.close());
      await plugin.register(resource);
      await eventually(async () => assert.ok(node.manager.resources().capacity[resource] !== "0"));
      return plugin;
    },
    async restart({ boot: next = boot, kill = false } = {}) {
      boot = next;
      const text = kill ? readFileSync(join(node.directory, "kubelet_internal_checkpoint")) : undefined;
      await node.manager.close();
      // A killed agent has not written what `close` writes.
      if (text !== undefined) writeFileSync(join(node.directory, "kubelet_internal_checkpoint"), text);
      node.manager = await start(boot);
    },
  };
  node.manager = await start(boot);
  return node;
}

const container = (
  name: string,
  limits: Record<string, string>,
  more: Partial<Container> = {},
): Container => ({
  name,
  resources: { limits },
  ...more,
});

function podOf(
  uid: string,
  containers: readonly Container[],
  initContainers: readonly Container[] = [],
): Pod {
  return {
    metadata: { name: uid, namespace: "default", uid },
    spec: { containers, initContainers },
  } as unknown as Pod;
}

const simplePod = (uid: string, count: number, resource = gpu): Pod =>
  podOf(uid, [container("main", { [resource]: String(count), cpu: "100m" })]);

/** Admits a pod; rejects with the refusal. */
async function admit(node: Node, pod: Pod): Promise<void> {
  node.active.add(pod.metadata.uid);
  const refusal = await node.manager.admit(pod);
  if (refusal === undefined) return;
  node.active.delete(pod.metadata.uid);
  throw new Error(`${refusal.reason}: ${refusal.message}`);
}

const refused = (why: string) => ({
  message: `UnexpectedAdmissionError: Allocate failed due to ${why}, which is unexpected`,
});

const ids = (node: Node, pod: Pod, name = "main"): string =>
  node.manager
    .devices(pod.metadata.uid, name)
    .map(({ id }) => id)
    .toSorted()
    .join();

const start = (node: Node, pod: Pod, name = "main") => {
  const all = [...pod.spec.containers, ...(pod.spec.initContainers ?? [])];
  return node.manager.container(pod, all.find((one) => one.name === name) as Container);
};

const waits = (message: string | RegExp) => ({
  name: "RuntimeError",
  reason: "CreateContainerConfigError",
  message,
});

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
  await eventually(async () => assert.deepEqual(node.manager.resources().capacity, { [gpu]: "1" }));
});

test("the Node has all devices as capacity and healthy ones as allocatable, and 0 five minutes after the plugin went", async (t) => {
  const node = await testNode(t);
  const plugin = await node.plugin({ devices: [device("a"), device("b"), device("c", 0, "Unhealthy")] });
  const says = (capacity: string, allocatable: string) =>
    eventually(async () =>
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

test("what cannot be allocated refuses the pod with the kubelet's texts, and holds nothing", async (t) => {
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
  await eventually(async () => assert.equal(node.manager.resources().allocatable[gpu], "0"));
  await assert.rejects(
    admit(node, simplePod("p8", 1)),
    refused("no healthy devices present; cannot allocate unhealthy devices example.com/gpu"),
  );
  // Cluster-level resources have no plugin.
  await admit(node, simplePod("p9", 1, "example.com/licence"));
  // The plugin is gone for good while a pod holds its devices.
  plugin.endStreams();
  await eventually(async () =>
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
  await eventually(async () => assert.equal(node.manager.resources().allocatable[gpu], "0"));
  await assert.rejects(
    start(node, pod),
    waits(/endpoint of device plugin example\.com\/gpu has been stopped/),
  );
});

test("after a restart containers have their devices, and wait until the plugin has reported them", async (t) => {
  const node = await testNode(t);
  const plugin = await node.plugin({ devices: [device("a"), device("b", 1)] });
  const pod = simplePod("p", 2);
  await admit(node, pod);
  const before = await start(node, pod);
  await node.restart({ kill: true });
  assert.equal(ids(node, pod), "a,b");
  const held = node.manager.devices("p", "main").toSorted((one, other) => (one.id < other.id ? -1 : 1));
  assert.deepEqual(held, [
    { resource: gpu, id: "a", numaNode: undefined },
    { resource: gpu, id: "b", numaNode: 1 },
  ]);
  assert.deepEqual([...node.manager.podUIDs()], ["p"]);
  assert.deepEqual(node.manager.resources().capacity, { [gpu]: "0" });
  // Admitted, since it has its devices, but not started.
  await admit(node, pod);
  await assert.rejects(
    start(node, pod),
    waits(/^device plugin for resource example\.com\/gpu has not yet reported devices; /),
  );
  assert.equal(node.manager.health("p", "main")[0]?.resources?.[0]?.health, "Unknown");
  const again = await node.plugin({ devices: [device("a"), device("b", 1, "Unhealthy")] });
  assert.equal(node.retries, 2);
  const unhealthy =
    "previously allocated devices are no longer healthy; cannot allocate unhealthy devices example.com/gpu";
  await assert.rejects(start(node, pod), waits(unhealthy));
  await assert.rejects(admit(node, simplePod("other", 1)), /Requested: 1, Available: 0/);
  again.report([device("a"), device("b", 1)]);
  await eventually(async () => assert.equal(node.retries, 3));
  assert.deepEqual(await start(node, pod), before);
  assert.deepEqual([plugin.calls, again.calls], [["allocate a,b"], []]);

  await node.restart();
  await node.plugin({ devices: [device("a"), device("b", 1, "Unhealthy")] });
  await assert.rejects(admit(node, pod), refused(unhealthy));
  assert.equal(ids(node, pod), "");
});

test("after a reboot the plugin sets up the same devices anew before the container starts", async (t) => {
  const node = await testNode(t);
  await node.plugin({ devices: [device("a"), device("b")] });
  const [pod, other] = [simplePod("p", 1), simplePod("q", 1)];
  await admit(node, pod);
  await admit(node, other);
  await node.restart({ boot: "boot-2" });
  await admit(node, pod);
  await assert.rejects(start(node, pod), waits(/has not yet reported devices/));
  const again = await node.plugin({ devices: [device("a"), device("b")] });
  again.allocate = () => ({ envs: { BOOT: "2" } });
  assert.deepEqual((await start(node, pod)).env, [["BOOT", "2"]]);
  await start(node, pod);
  assert.deepEqual(again.calls, ["allocate a"]);
  // The agent is killed before it has started the other pod, which is not forgotten.
  await node.restart({ kill: true, boot: "boot-2" });
  const third = await node.plugin({ devices: [device("a"), device("b")] });
  await start(node, other);
  assert.deepEqual(third.calls, ["allocate b"]);
});

test("a new pod waits a moment for a plugin that comes back after a restart, and is refused afterwards", async (t) => {
  const node = await testNode(t);
  await node.plugin({ devices: [device("a")] });
  await node.restart();
  const pod = simplePod("p", 1);
  const admitted = admit(node, pod);
  await node.plugin({ devices: [device("a")] });
  await admitted;
  assert.equal(ids(node, pod), "a");
  node.manager.release("p");

  await node.restart();
  const late = admit(node, simplePod("q", 1));
  const checked = assert.rejects(
    late,
    refused("no healthy devices present; cannot allocate unhealthy devices example.com/gpu"),
  );
  node.clock.push(10_000);
  await checked;
});

test("a damaged checkpoint is named and set aside, and the agent goes on", async (t) => {
  const node = await testNode(t);
  await node.plugin({ devices: [device("a")] });
  const pod = simplePod("p", 1);
  await admit(node, pod);
  await node.manager.close();
  const path = join(node.directory, "kubelet_internal_checkpoint");
  const damaged = readFileSync(path, "utf8").replace("main", "niam");
  writeFileSync(path, damaged);
  await node.restart();
  assert.match(
    String(node.lines.at(-1)?.fields["err"]),
    new RegExp(`${path} is damaged: its checksum is wrong`),
  );
  assert.equal(readFileSync(`${path}.damaged`, "utf8"), damaged);
  await node.plugin({ devices: [device("a")] });
  // The pod's containers still run: they get devices as new ones would.
  assert.deepEqual((await start(node, pod)).env, [["DEVICES", "a"]]);
});

test("devices of pods that ended while nobody looked are free again, those of others are not", async (t) => {
  const node = await testNode(t);
  await node.plugin({ devices: [device("a"), device("b")] });
  await admit(node, simplePod("p", 1));
  await admit(node, simplePod("q", 1));
  await assert.rejects(admit(node, simplePod("r", 1)), /Available: 0/);
  node.active.delete("p");
  await admit(node, simplePod("s", 1));
  assert.equal(ids(node, simplePod("s", 1)), "a");
  await assert.rejects(admit(node, simplePod("t", 1)), /Available: 0/);
});

test("many pods at once never share a device, whatever the plugin prefers", async (t) => {
  const names = Array.from({ length: 40 }, (_, index) => `d${index}`);
  const node = await testNode(t);
  const plugin = await node.plugin({
    devices: names.map((name) => device(name)),
    getPreferredAllocationAvailable: true,
  });
  // All containers prefer the same devices.
  plugin.preferred = (available) => available.slice(0, 3);
  const pods = Array.from({ length: 30 }, (_, index) => simplePod(`p${index}`, 1 + (index % 3)));
  const results = await Promise.allSettled(pods.map((pod) => admit(node, pod)));
  const given = pods.flatMap((pod) => node.manager.devices(pod.metadata.uid, "main").map(({ id }) => id));
  assert.equal(new Set(given).size, given.length);
  const admitted = pods.filter((_, index) => results[index]?.status === "fulfilled");
  const wanted = admitted.reduce(
    (sum, pod) => sum + Number(pod.spec.containers[0]?.resources?.limits?.[gpu]),
    0,
  );
  assert.equal(given.length, wanted);
  // A refused pod found fewer devices than it requested.
  assert.ok(given.length > names.length - 3, `${given.length}`);
});

test("allocatedResourcesStatus follows the health of devices, and the pods that hold them are named", async (t) => {
  const node = await testNode(t);
  const plugin = await node.plugin({ devices: [device("a"), device("b"), device("c")] });
  await admit(node, simplePod("p", 2));
  await admit(node, simplePod("q", 1));
  const health = () => node.manager.health("p", "main");
  const says = (a: string, b: string) => [
    {
      name: gpu,
      resources: [
        { resourceID: "a", health: a },
        { resourceID: "b", health: b },
      ],
    },
  ];
  assert.deepEqual(health(), says("Healthy", "Healthy"));
  plugin.report([device("a"), device("b", 0, "Unhealthy"), device("c")]);
  await eventually(async () => assert.deepEqual(health(), says("Healthy", "Unhealthy")));
  assert.deepEqual(node.healthChanges, ["p"]);
  plugin.report([device("a"), device("c")]);
  await eventually(async () => assert.deepEqual(health(), says("Healthy", "Unknown")));
  plugin.endStreams();
  await eventually(async () => assert.deepEqual(health(), says("Unknown", "Unknown")));
  assert.deepEqual(node.healthChanges, ["p", "p", "p", "q"]);
});

test("plugins register through plugins_registry, too, and go with their socket", async (t) => {
  const node = await testNode(t);
  const watcher = new PluginWatcher({
    directory: node.paths.pluginsRegistry,
    plugins: new DraPlugins(silentLog),
    devicePlugins: node.manager.registryHandler,
    onMachine: (path) => node.paths.onMachine(path),
    clock: systemClock,
    log: silentLog,
  });
  watcher.start();
  t.after(() => watcher.close());
  const options = { directory: node.paths.pluginsRegistry, devices: [device("a")] };
  const wrong = await testPlugin({ ...options, name: "wrong-reg.sock", info: { supportedVersions: ["v2"] } });
  t.after(() => wrong.close());
  const native = await testPlugin({ ...options, name: "native-reg.sock", info: { name: "cpu" } });
  t.after(() => native.close());
  await eventually(async () => {
    assert.match(wrong.registered[0]?.error ?? "", /requested API version "v2" is not supported by kubelet/);
    assert.match(native.registered[0]?.error ?? "", /the ResourceName "cpu" is invalid/);
  });
  const plugin = await testPlugin({ ...options, name: "gpu-reg.sock", info: { name: gpu } });
  t.after(() => plugin.close());
  await eventually(async () => assert.deepEqual(plugin.registered, [{ pluginRegistered: true, error: "" }]));
  await eventually(async () => assert.equal(node.manager.resources().allocatable[gpu], "1"));
  await admit(node, simplePod("p", 1));
  rmSync(plugin.socket);
  await eventually(async () => assert.equal(node.manager.resources().allocatable[gpu], "0"));
});

test("a slow plugin holds up pods that want its devices, and nobody else", async (t) => {
  const node = await testNode(t);
  const slow = await node.plugin({ name: "slow.sock", devices: [device("s")] }, "example.com/slow");
  await node.plugin({ devices: [device("a")] });
  let answer = (): void => {};
  slow.allocate = () => new Promise((_, reject) => (answer = () => reject(new Error("at last"))));
  const slowly = assert.rejects(
    admit(node, simplePod("p", 1, "example.com/slow")),
    refused("rpc error: code = Unknown desc = at last"),
  );
  await eventually(async () => assert.equal(slow.calls.length, 1));
  // The devices are held while the plugin computes its preference.
  await assert.rejects(admit(node, simplePod("q", 1, "example.com/slow")), /Requested: 1, Available: 0/);
  await admit(node, simplePod("r", 1));
  answer();
  await slowly;
});

test("responses that no runtime could use, or that are too large, refuse the pod and name the field", async (t) => {
  const node = await testNode(t);
  const plugin = await node.plugin({ devices: [device("a")] });
  for (const [response, problem] of [
    [{ envs: { "A=B": "x" } }, /envs: "A=B" must be the name of an environment variable/],
    [{ envs: { A: "x\0y" } }, /envs\[A\]: "x\\u0000y" must not contain a zero byte/],
    [
      { envs: { A: "x".repeat(300_000) } },
      /the device plugin's response has 3000\d\d bytes, more than 262144/,
    ],
    [
      { mounts: [{ containerPath: "lib", hostPath: "/lib", readOnly: true }] },
      /mounts\[0\]\.container_path: "lib" must be an absolute path/,
    ],
    [
      { devices: [{ containerPath: "/dev/a", hostPath: "", permissions: "rw" }] },
      /devices\[0\]\.host_path: "" must be an absolute path/,
    ],
    [
      { devices: [{ containerPath: "/dev/a", hostPath: "/dev/a", permissions: "rx" }] },
      /devices\[0\]\.permissions: "rx" must consist of the letters r, w and m/,
    ],
    [{ cdiDevices: [{ name: "gpu" }] }, /cdi_devices\[0\]\.name: "gpu" must be a qualified CDI name/],
    [{ envs: { A: "x".repeat(5_000_000) } }, /rpc error: code = ResourceExhausted/],
  ] as const) {
    plugin.allocate = () => response as Partial<ContainerAllocateResponse>;
    await assert.rejects(admit(node, simplePod("p", 1)), problem);
  }
  plugin.allocate = () => ({});
  await admit(node, simplePod("p", 1));
});

test("a plugin whose reports are beyond all bounds is cut off; one that floods is read at leisure", async (t) => {
  const node = await testNode(t);
  await node.plugin({ devices: [device("a")] });
  for (const [devices, problem] of [
    [[device("x".repeat(513))], /has 513 characters; 1 to 512 are possible/],
    [[device("")], /the plugin reports a device whose ID "" has 0 characters/],
    [
      [
        device(
          "a",
          Array.from({ length: 1025 }, (_, index) => index),
        ),
      ],
      /1025 NUMA nodes of device "a", more than 1024/,
    ],
    [Array.from({ length: 65_537 }, (_, index) => device(`${index}`)), /65537 devices, more than 65536/],
  ] as const) {
    const bad = await testPlugin({ directory: node.directory, name: "bad.sock", devices });
    t.after(() => bad.close());
    await bad.register("example.com/bad");
    await eventually(async () => assert.match(String(node.lines.at(-1)?.fields["err"]), problem));
    assert.deepEqual(node.manager.resources().capacity, { "example.com/bad": "0", [gpu]: "1" });
    await bad.close();
  }
  const flooding = await node.plugin({ name: "flood.sock", devices: [device("0")] }, "example.com/flood");
  let last = 0;
  const flood = setInterval(() => {
    for (let more = 0; more < 20; more++) flooding.report([device(String(++last)), device("b")]);
  });
  t.after(() => clearInterval(flood));
  await admit(node, simplePod("p", 1));
  await eventually(async () =>
    assert.ok(node.lines.some(({ message }) => message.includes("more often than is read"))),
  );
  clearInterval(flood);
  await eventually(async () =>
    assert.deepEqual(
      node.manager.allocatable().filter(({ resource }) => resource === "example.com/flood"),
      [String(last), "b"].map((id) => ({ resource: "example.com/flood", id, numaNode: undefined })),
    ),
  );
});
