import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { RpcError, service, unixChannel, unixServer } from "@dray/rpc";
import { DevicePluginDefinition, RegistrationDefinition } from "@dray/rpc/deviceplugin/v1beta1";
import { eventually } from "@dray/testing/eventually";
import { type PluginNode, pluginNode } from "../testing/internal/device-plugin-node.ts";
import { lamps } from "../testing/internal/smallest-device-plugin.ts";
import type { DevicePlugin, PluginDevice } from "./index.ts";

const lamp = "example.com/lamp";
const socket = "example.com_lamp.sock";

const has = (node: PluginNode, count: number): Promise<unknown> =>
  eventually(`${count} lamps`, () => node.manager.resources().allocatable[lamp] === String(count));

/** Lists that a test sends one after the other. */
function lists(): { send(list: unknown): void; discover(): AsyncIterable<readonly PluginDevice[]> } {
  const sent: unknown[] = [];
  let wake = (): void => {};
  return {
    send(list) {
      sent.push(list);
      wake();
    },
    async *discover() {
      for (;;) {
        while (sent.length > 0) yield sent.shift() as PluginDevice[];
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
  };
}

test("the README has the smallest device plugin, and that is this file", () => {
  const folder = join(import.meta.dirname, "../..");
  const text = readFileSync(join(folder, "src/testing/internal/smallest-device-plugin.ts"), "utf8").trim();
  assert.ok(readFileSync(join(folder, "README.md"), "utf8").includes(text));
  assert.ok(text.split("\n").length <= 30);
});

test("a plugin that is there before the kubelet registers, serves pods, and takes its socket away at the end", async (t) => {
  const node = await pluginNode(t);
  const plugin = node.run(lamps);
  await eventually("the socket", () => existsSync(join(node.directory, socket)));
  await node.startKubelet();
  await has(node, 2);
  const pod = await node.admit("p", 2);
  assert.deepEqual(await node.start(pod), {
    env: [["LAMPS", "lamp-0,lamp-1"]],
    mounts: [],
    devices: [{ hostPath: "/dev/null", containerPath: "/dev/lamp", permissions: "rw" }],
    annotations: {},
    cdiDevices: [],
  });
  assert.deepEqual(
    node.manager.devices("p", "main").map(({ id, numaNode }) => [id, numaNode]),
    [
      ["lamp-0", 0],
      ["lamp-1", 1],
    ],
  );
  await plugin.stop();
  assert.ok(!readdirSync(node.directory).includes(socket));
  await has(node, 0);
});

test("after a restart of the kubelet, and after its socket was deleted, the plugin is there again", async (t) => {
  const node = await pluginNode(t);
  await node.startKubelet();
  node.run(lamps);
  await has(node, 2);
  const pod = await node.admit("p", 1);
  const before = await node.start(pod);
  for (let time = 0; time < 2; time++) {
    await node.startKubelet();
    assert.equal(node.manager.resources().allocatable[lamp], "0");
    await has(node, 2);
    assert.deepEqual(await node.start(pod), before);
  }
  rmSync(join(node.directory, socket));
  await eventually("served anew", () =>
    node.lines.some((line) => line.startsWith("Serving the socket anew")),
  );
  await has(node, 2);
  await node.admit("q", 1);
  // The whole folder goes, and comes back with another kubelet.
  await node.manager.close();
  rmSync(node.directory, { recursive: true });
  mkdirSync(node.directory);
  await node.startKubelet();
  node.clock.skip(30_000);
  await has(node, 2);
});

test("reports changed devices; an error of an invalid list names path and value, and changes nothing", async (t) => {
  const node = await pluginNode(t);
  await node.startKubelet();
  const { send, discover } = lists();
  node.run({ ...lamps, discover });
  send([{ id: "a" }, { id: "b", health: "Unhealthy" }]);
  await has(node, 1);
  for (const [list, problem] of [
    [{ a: 1 }, /devices: \[object Object\] must be a list/],
    [["a"], /devices\[0\]: \\"a\\" must be an object/],
    [[{ id: "a" }, { id: 7 }], /devices\[1\]\.id: 7 must be a text that is not empty/],
    [[{ id: "a" }, { id: "a" }], /devices\[1\]\.id: \\"a\\" must be unique among the devices/],
    [
      [{ id: "a", health: "Sick" }],
      /devices\[0\]\.health: \\"Sick\\" must be \\"Healthy\\" or \\"Unhealthy\\"/,
    ],
    [[{ id: "a", numaNodes: [-1] }], /devices\[0\]\.numaNodes\[0\]: -1 must be the number of a NUMA node/],
  ] as const) {
    send(list);
    await eventually(`${problem}; ${node.lines}`, () => node.lines.some((line) => problem.test(line)));
  }
  assert.equal(node.manager.resources().capacity[lamp], "2");
  send([{ id: "a" }, { id: "b" }, { id: "c", health: "Healthy" }]);
  await has(node, 3);
  send([]);
  await has(node, 0);
});

test("an error or invalid result of allocate rejects the pod with the reason", async (t) => {
  const node = await pluginNode(t);
  await node.startKubelet();
  let allocate: DevicePlugin["allocate"] = () => ({});
  const { send, discover } = lists();
  node.run({ ...lamps, discover, allocate: (...args) => allocate(...args) });
  send([{ id: "a" }]);
  await has(node, 1);
  for (const [answer, problem] of [
    [() => Promise.reject(new Error("it is dark")), /rpc error: code = Unknown desc = it is dark, which/],
    [() => "lamp", /allocate: "lamp" must be an object/],
    [() => ({ env: { A: 1 } }), /env\.A: 1 must be a text/],
    [() => ({ env: { "A=B": "1" } }), /a name in env: "A=B" must be not empty, and without '='/],
    [
      () => ({ mounts: [{ hostPath: "/a" }] }),
      /mounts\[0\]\.containerPath: undefined must be an absolute path/,
    ],
    [
      () => ({ mounts: [{ hostPath: "/a", containerPath: "/b", readOnly: 1 }] }),
      /readOnly: 1 must be true or false/,
    ],
    [
      () => ({ devices: [{ hostPath: "dev/a" }] }),
      /devices\[0\]\.hostPath: "dev\/a" must be an absolute path/,
    ],
    [() => ({ devices: [{ hostPath: "/a", permissions: "x" }] }), /permissions: "x" must be letters of rwm/],
    [() => ({ cdiDevices: ["a"] }), /CDI device "a" must have the form vendor\/class=device/],
  ] as const) {
    allocate = answer as never;
    await assert.rejects(node.admit("p", 1), problem);
  }
  allocate = () => ({
    mounts: [{ hostPath: "/dev", containerPath: "/lamps", readOnly: true }],
    devices: [{ hostPath: "/dev/zero", permissions: "r" }],
    annotations: { lamp: "on" },
    cdiDevices: ["example.com/lamp=a"],
  });
  assert.deepEqual(await node.start(await node.admit("p", 1)), {
    env: [],
    mounts: [{ hostPath: "/dev", containerPath: "/lamps", readOnly: true }],
    devices: [{ hostPath: "/dev/zero", containerPath: "/dev/zero", permissions: "r" }],
    annotations: { lamp: "on" },
    cdiDevices: ["example.com/lamp=a"],
  });
});

test("preferences and the work before a start are the plugin's where it has them", async (t) => {
  const node = await pluginNode(t);
  await node.startKubelet();
  const calls: unknown[] = [];
  let problem = "";
  node.run({
    ...lamps,
    preferred(request) {
      calls.push(request);
      return ["lamp-1"];
    },
    async preStart(ids) {
      calls.push(ids);
      if (problem !== "") throw new Error(problem);
    },
  });
  await has(node, 2);
  const pod = await node.admit("p", 1);
  assert.deepEqual((await node.start(pod)).env, [["LAMPS", "lamp-1"]]);
  const request = { available: ["lamp-0", "lamp-1"], mustInclude: [], size: 1 };
  assert.deepEqual(calls, [request, ["lamp-1"]]);
  problem = "no bulb";
  await assert.rejects(node.start(pod), { reason: "CreateContainerConfigError", message: /desc = no bulb$/ });
});

test("a kubelet that refuses is asked again, less and less often; another one is asked at once", async (t) => {
  const node = await pluginNode(t);
  mkdirSync(node.directory, { recursive: true });
  const requests: { resourceName: string; endpoint: string; version: string }[] = [];
  const kubelet = await unixServer(join(node.directory, "kubelet.sock"), [
    service(RegistrationDefinition, {
      async register(request) {
        requests.push(request);
        throw new RpcError("Unknown", "not today");
      },
    }),
  ]);
  t.after(() => kubelet.close(0));
  node.run(lamps);
  for (const [tries, delay] of [1000, 2000, 4000, 8000, 16_000, 30_000, 30_000].entries()) {
    await eventually(`${tries + 1} tries`, () => requests.length === tries + 1);
    const refusals = () => node.lines.filter((line) => line.includes("desc = not today")).length;
    await eventually("the refusal is known", () => refusals() === tries + 1);
    node.clock.skip(delay);
  }
  assert.deepEqual(
    { ...requests[0], options: undefined },
    { version: "v1beta1", endpoint: socket, resourceName: lamp, options: undefined },
  );
  await kubelet.close(0);
  // Another kubelet is asked at once.
  await node.startKubelet();
  await has(node, 2);
});

test("a kubelet that no longer follows the devices is asked again", async (t) => {
  const node = await pluginNode(t);
  mkdirSync(node.directory, { recursive: true });
  let registered = 0;
  const kubelet = await unixServer(join(node.directory, "kubelet.sock"), [
    service(RegistrationDefinition, {
      async register() {
        registered++;
        return {};
      },
    }),
  ]);
  t.after(() => kubelet.close(0));
  node.run(lamps);
  for (let time = 1; time <= 3; time++) {
    await eventually(`registered ${time} times`, () => registered === time);
    const channel = unixChannel(join(node.directory, socket));
    for await (const { devices } of channel.caller(DevicePluginDefinition).listAndWatch({})) {
      assert.equal(devices.length, 2);
      break;
    }
    channel.close();
    const left = () => node.lines.filter((line) => line.startsWith("The kubelet no longer follows")).length;
    await eventually("the end of the stream is known", () => left() === time);
    assert.equal(registered, time);
    node.clock.skip(30_000);
  }
});

test("ends with an error: invalid name, socket or folder, failed discover, a rival plugin", async (t) => {
  const node = await pluginNode(t);
  const fails = (plugin: Partial<DevicePlugin>, options: object, problem: RegExp) =>
    assert.rejects(node.run({ ...lamps, ...plugin }, options).ended, problem);
  for (const name of ["lamp", "kubernetes.io/lamp", "", "x".repeat(400), 7 as never])
    await fails(
      { name },
      {},
      /^TypeError: name of the device plugin: .{1,110} must be the name of an extended resource/,
    );
  for (const socketName of ["kubelet.sock", "../a.sock", "a", ".sock/"])
    await fails(
      {},
      { socketName },
      /^TypeError: socketName: ".+" must be the name of a file that ends with \.sock/,
    );
  await fails({}, { directory: `/${"x".repeat(100)}` }, /at most 107 are possible/);
  const failing = async function* (): AsyncGenerator<PluginDevice[]> {
    yield [{ id: "a" }];
    throw new Error("the bus is gone");
  };
  await fails({ discover: failing }, {}, /the bus is gone/);
  assert.deepEqual(readdirSync(node.directory), []);

  const plugin = node.run(lamps);
  const path = join(node.directory, socket);
  await eventually("the socket", () => existsSync(path));
  rmSync(path);
  const rival = createServer().listen(path);
  t.after(() => rival.close());
  await once(rival, "listening");
  await assert.rejects(plugin.ended, new RegExp(`another process has taken over ${path}`));
});
