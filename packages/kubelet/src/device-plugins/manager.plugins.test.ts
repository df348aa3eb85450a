import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { test } from "node:test";
import { silentLog, systemClock } from "@dray/client";
import type { ContainerAllocateResponse } from "@dray/rpc/deviceplugin/v1beta1";
import { eventuallyPasses } from "@dray/testing/eventually";
import { DraPlugins } from "../dra/plugins.ts";
import { PluginWatcher } from "../dra/watcher.ts";
import { device, testPlugin } from "../testing/device-plugin.ts";
import { admit, gpu, refused, simplePod, testNode } from "../testing/device-plugin-node.ts";

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
  await eventuallyPasses(async () => assert.deepEqual(health(), says("Healthy", "Unhealthy")));
  assert.deepEqual(node.healthChanges, ["p"]);
  plugin.report([device("a"), device("c")]);
  await eventuallyPasses(async () => assert.deepEqual(health(), says("Healthy", "Unknown")));
  plugin.endStreams();
  await eventuallyPasses(async () => assert.deepEqual(health(), says("Unknown", "Unknown")));
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
  await eventuallyPasses(async () => {
    assert.match(wrong.registered[0]?.error ?? "", /requested API version "v2" is not supported by kubelet/);
    assert.match(native.registered[0]?.error ?? "", /the ResourceName "cpu" is invalid/);
  });
  const plugin = await testPlugin({ ...options, name: "gpu-reg.sock", info: { name: gpu } });
  t.after(() => plugin.close());
  await eventuallyPasses(async () =>
    assert.deepEqual(plugin.registered, [{ pluginRegistered: true, error: "" }]),
  );
  await eventuallyPasses(async () => assert.equal(node.manager.resources().allocatable[gpu], "1"));
  await admit(node, simplePod("p", 1));
  rmSync(plugin.socket);
  await eventuallyPasses(async () => assert.equal(node.manager.resources().allocatable[gpu], "0"));
});

test("a slow plugin delays only pods that request its devices", async (t) => {
  const node = await testNode(t);
  const slow = await node.plugin({ name: "slow.sock", devices: [device("s")] }, "example.com/slow");
  await node.plugin({ devices: [device("a")] });
  let answer = (): void => {};
  slow.allocate = () => new Promise((_, reject) => (answer = () => reject(new Error("at last"))));
  const slowly = assert.rejects(
    admit(node, simplePod("p", 1, "example.com/slow")),
    refused("rpc error: code = Unknown desc = at last"),
  );
  await eventuallyPasses(async () => assert.equal(slow.calls.length, 1));
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
    await eventuallyPasses(async () => assert.match(String(node.lines.at(-1)?.fields["err"]), problem));
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
  await eventuallyPasses(async () =>
    assert.ok(node.lines.some(({ message }) => message.includes("more often than is read"))),
  );
  clearInterval(flood);
  await eventuallyPasses(async () =>
    assert.deepEqual(
      node.manager.allocatable().filter(({ resource }) => resource === "example.com/flood"),
      [String(last), "b"].map((id) => ({ resource: "example.com/flood", id, numaNode: undefined })),
    ),
  );
});
