import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { silentLog } from "@dray/client";
import {
  Container,
  type ContainerAdjustment,
  ContainerUpdate,
  CreateContainerResponse,
  Event,
  LinuxContainer,
  PodSandbox,
  StopContainerResponse,
  UpdateContainerResponse,
} from "@dray/rpc/nri/v1alpha1";
import { eventually } from "../testing/eventually.ts";
import { type PluginMethods, type TestPluginOptions, testPlugin } from "../testing/nri-plugin.ts";
import { NriServer, type NriServerOptions, type NriState } from "./server.ts";

const pod = PodSandbox.fromPartial({ id: "pod-1", name: "pod", namespace: "default", uid: "uid-1" });
const container = Container.fromPartial({
  id: "c-1",
  podSandboxId: "pod-1",
  name: "main",
  env: ["A=1", "B=x=y"],
  mounts: [{ destination: "/data", source: "/var/data", type: "bind", options: ["ro"] }],
  annotations: { note: "first" },
  linux: LinuxContainer.fromPartial({ resources: { cpu: { shares: { value: 512n } } } }),
});
const empty: NriState = { pods: [], containers: [] };

interface Node {
  readonly server: NriServer;
  readonly socketPath: string;
  readonly updates: ContainerUpdate[];
  /** Connects a plugin, and waits until it gets requests. */
  plugin(methods: PluginMethods, options?: TestPluginOptions): ReturnType<typeof testPlugin>;
}

async function withServer(t: TestContext, options: Partial<NriServerOptions> = {}): Promise<Node> {
  const folder = mkdtempSync("/tmp/dk-");
  const socketPath = join(folder, "nri/nri.sock");
  const updates: ContainerUpdate[] = [];
  const server = new NriServer({
    socketPath,
    runtimeName: "dray",
    runtimeVersion: "1",
    log: silentLog,
    state: async () => empty,
    updateContainers: async (all) => {
      updates.push(...all);
      return [];
    },
    ...options,
  });
  await server.start();
  t.after(async () => {
    await server.close();
    rmSync(folder, { recursive: true });
  });
  return {
    server,
    socketPath,
    updates,
    async plugin(methods, pluginOptions = {}) {
      const { name = "test", index = "00" } = pluginOptions;
      const plugin = await testPlugin(socketPath, methods, pluginOptions);
      await eventually(async () => assert.ok(server.plugins.includes(`${index}-${name}`)));
      return plugin;
    },
  };
}

const bit = (event: number): number => 2 ** (event - 1);
const adjusting = (adjust: Parameters<typeof ContainerAdjustment.fromPartial>[0]): PluginMethods => ({
  createContainer: async () => CreateContainerResponse.fromPartial({ adjust }),
});
const updating = (containerId: string, cpus: string, ignoreFailure = false): ContainerUpdate =>
  ContainerUpdate.fromPartial({ containerId, ignoreFailure, linux: { resources: { cpu: { cpus } } } });

test("a plugin registers, is configured, and is told what is there", async (t) => {
  const { plugin, socketPath } = await withServer(t, {
    state: async () => ({ pods: [pod], containers: [container] }),
  });
  assert.equal(statSync(socketPath).mode & 0o777, 0o600);
  const { configured, synchronized } = await plugin({}, { name: "a.b_c+d-e", index: "42" });
  const { runtimeName, runtimeVersion, registrationTimeout, requestTimeout } = await configured;
  assert.deepEqual(
    [runtimeName, runtimeVersion, registrationTimeout, requestTimeout],
    ["dray", "1", 5000n, 2000n],
  );
  const [{ pods, containers, more } = { pods: [], containers: [], more: true }, ...others] =
    await synchronized;
  assert.deepEqual([others.length, more], [0, false]);
  assert.deepEqual([pods[0]?.uid, containers[0]?.id], ["uid-1", "c-1"]);
});

test("what it wants when it comes is done; what is there may come in parts", async (t) => {
  const annotations = { long: "x".repeat(1 << 20) };
  const containers = Array.from({ length: 10 }, (_, index) =>
    Container.fromPartial({ id: `c-${index}`, annotations }),
  );
  const { plugin, updates } = await withServer(t, { state: async () => ({ pods: [pod], containers }) });
  const { synchronized } = await plugin({
    synchronize: async ({ more }) => ({ update: more ? [] : [updating("c-3", "0-1")], more }),
  });
  const parts = await synchronized;
  assert.ok(parts.length > 2);
  assert.deepEqual(
    parts.flatMap((part) => part.containers.map(({ id }) => id)),
    containers.map(({ id }) => id),
  );
  assert.deepEqual(
    parts.map(({ more }) => more),
    parts.map((_, index) => index < parts.length - 1),
  );
  await eventually(async () =>
    assert.deepEqual(
      updates.map(({ containerId }) => containerId),
      ["c-3"],
    ),
  );
});

test("plugins that register wrongly, not at all, or ask for unknown events are refused", async (t) => {
  const { server, socketPath } = await withServer(t, { registrationTimeout: 100 });
  for (const options of [{ index: "1" }, { index: "ab" }, { name: "" }, { name: "a/b" }]) {
    await assert.rejects(testPlugin(socketPath, {}, options), /invalid plugin (name|index) ".*": must be/);
  }
  const { closed } = await testPlugin(socketPath, {}, { events: 1 << 20 });
  await closed;
  const silent = connect(socketPath);
  silent.resume();
  await once(silent, "close");
  const hostile = connect(socketPath);
  hostile.on("error", () => {});
  hostile.write(Buffer.alloc(1 << 16, 0xff));
  hostile.resume();
  await once(hostile, "close");
  assert.deepEqual(server.plugins, []);
});

test("events come to those who want them, in the order of plugins, and one at a time", async (t) => {
  const { server, plugin } = await withServer(t);
  const seen: string[] = [];
  const note = (who: string): PluginMethods => ({
    runPodSandbox: async ({ pod }) => {
      seen.push(`${who} run ${pod?.uid}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
      seen.push(`${who} done`);
      return {};
    },
    removePodSandbox: async () => {
      seen.push(`${who} remove`);
      return {};
    },
  });
  await plugin(note("late"), { index: "20", name: "late" });
  await plugin(note("early"), { index: "10", name: "early", events: bit(Event.RUN_POD_SANDBOX) });
  assert.deepEqual(server.plugins, ["10-early", "20-late"]);
  await Promise.all([server.runPodSandbox(pod), server.removePodSandbox(pod)]);
  assert.deepEqual(seen, ["early run uid-1", "early done", "late run uid-1", "late done", "late remove"]);
});

test("a plugin from before 0.12 gets StateChange", async (t) => {
  const { server, plugin } = await withServer(t);
  const seen: unknown[] = [];
  await plugin({
    stateChange: async ({ event, pod, container }) => {
      seen.push([event, pod?.id, container?.id]);
      return {};
    },
    createContainer: async () => CreateContainerResponse.fromPartial({}),
    stopContainer: async () => StopContainerResponse.fromPartial({}),
  });
  await server.runPodSandbox(pod);
  await server.createContainer(pod, container);
  await server.postCreateContainer(pod, container);
  await server.startContainer(pod, container);
  await server.postStartContainer(pod, container);
  await server.stopContainer(pod, container);
  await server.removeContainer(pod, container);
  await server.stopPodSandbox(pod);
  await server.removePodSandbox(pod);
  assert.deepEqual(seen, [
    [Event.RUN_POD_SANDBOX, "pod-1", undefined],
    [Event.POST_CREATE_CONTAINER, "pod-1", "c-1"],
    [Event.START_CONTAINER, "pod-1", "c-1"],
    [Event.POST_START_CONTAINER, "pod-1", "c-1"],
    [Event.REMOVE_CONTAINER, "pod-1", "c-1"],
    [Event.STOP_POD_SANDBOX, "pod-1", undefined],
    [Event.REMOVE_POD_SANDBOX, "pod-1", undefined],
  ]);
});

test("adjustments of all plugins come together, and each sees those before it", async (t) => {
  const { server, plugin } = await withServer(t);
  await plugin(
    adjusting({
      env: [
        { key: "A", value: "2" },
        { key: "C", value: "3" },
      ],
      mounts: [
        { destination: "-/data" },
        { destination: "/lib", source: "/usr/lib", type: "bind", options: [] },
      ],
      annotations: { "-note": "" },
      hooks: { poststop: [{ path: "/bin/one" }] },
      rlimits: [{ type: "RLIMIT_NOFILE", hard: 2n ** 64n - 1n, soft: 10n }],
      CDIDevices: [{ name: "a.b/c=d" }],
      linux: {
        devices: [{ path: "/dev/x", type: "c", major: 1n, minor: 3n }],
        resources: {
          cpu: { cpus: "2-3" },
          memory: { limit: { value: 2n ** 40n } },
          unified: { "io.max": "x" },
        },
        oomScoreAdj: { value: 5n },
        sysctl: { "net.a": "1" },
      },
    }),
    { index: "10" },
  );
  let seen: Container | undefined;
  await plugin(
    {
      createContainer: async (request) => {
        seen = request.container;
        const hooks = { poststop: [{ path: "/bin/two" }] };
        const linux = { resources: { pids: { limit: 7n } } };
        return CreateContainerResponse.fromPartial({
          adjust: { hooks, linux },
          update: [updating("c-2", "0")],
        });
      },
    },
    { index: "20" },
  );
  const { adjust, update } = await server.createContainer(pod, container);
  assert.deepEqual(adjust.env, [
    { key: "A", value: "2" },
    { key: "C", value: "3" },
  ]);
  assert.deepEqual(
    adjust.mounts.map(({ destination }) => destination),
    ["-/data", "/lib"],
  );
  assert.deepEqual(adjust.annotations, { "-note": "" });
  assert.deepEqual(
    adjust.hooks?.poststop.map(({ path }) => path),
    ["/bin/one", "/bin/two"],
  );
  assert.deepEqual(adjust.CDIDevices, [{ name: "a.b/c=d" }]);
  assert.equal(adjust.rlimits[0]?.hard, 2n ** 64n - 1n);
  const { resources } = adjust.linux ?? {};
  assert.deepEqual(
    [resources?.cpu?.cpus, resources?.memory?.limit?.value, resources?.pids?.limit, resources?.unified],
    ["2-3", 2n ** 40n, 7n, { "io.max": "x" }],
  );
  // An unchanged value is not sent.
  assert.equal(resources?.cpu?.shares, undefined);
  assert.deepEqual(
    update.map(({ containerId, linux }) => [containerId, linux?.resources?.cpu?.cpus]),
    [["c-2", "0"]],
  );
  assert.deepEqual(seen?.env, ["B=x=y", "A=2", "C=3"]);
  assert.deepEqual(
    seen?.mounts.map(({ destination }) => destination),
    ["/lib"],
  );
  assert.deepEqual(seen?.annotations, {});
  assert.deepEqual(
    seen?.linux?.devices.map(({ path }) => path),
    ["/dev/x"],
  );
  assert.deepEqual(
    [seen?.linux?.resources?.cpu?.cpus, seen?.linux?.resources?.cpu?.shares?.value],
    ["2-3", 512n],
  );
  assert.deepEqual(container.env, ["A=1", "B=x=y"]);
});

test("two plugins that set the same thing conflict, unless one removes the other's first", async (t) => {
  const cases: readonly [
    Parameters<typeof adjusting>[0],
    Parameters<typeof adjusting>[0],
    RegExp | undefined,
  ][] = [
    [{ env: [{ key: "A", value: "1" }] }, { env: [{ key: "A", value: "1" }] }, /both tried to set Env A$/],
    [{ env: [{ key: "A", value: "1" }] }, { env: [{ key: "-A" }, { key: "A", value: "2" }] }, undefined],
    [{ env: [{ key: "-A" }] }, { env: [{ key: "A", value: "2" }] }, /both tried to set Env A$/],
    [{ args: ["a"] }, { args: ["b"] }, /both tried to set Args$/],
    [{ args: ["a"] }, { args: ["", "b"] }, undefined],
    [
      { linux: { resources: { cpu: { cpus: "0" } } } },
      { linux: { resources: { cpu: { cpus: "1" } } } },
      /plugins "20-b" and "10-a" both tried to set CPUSetCPUs$/,
    ],
    [
      { linux: { resources: { cpu: { cpus: "0" } } } },
      { linux: { resources: { cpu: { mems: "1" } } } },
      undefined,
    ],
    [
      { mounts: [{ destination: "/x" }] },
      { mounts: [{ destination: "/x" }] },
      /both tried to set Mounts \/x$/,
    ],
    [
      { CDIDevices: [{ name: "a/b=c" }] },
      { CDIDevices: [{ name: "a/b=c" }] },
      /both tried to set CdiDevices/,
    ],
    [{ linux: { rdt: { closId: { value: "x" } } } }, { linux: { rdt: { remove: true } } }, undefined],
  ];
  for (const [first, second, conflict] of cases) {
    await t.test(JSON.stringify([first, second]), async (t) => {
      const { server, plugin } = await withServer(t);
      await plugin(adjusting(first), { index: "10", name: "a" });
      await plugin(adjusting(second), { index: "20", name: "b" });
      const result = server.createContainer(pod, container);
      if (conflict === undefined) await result;
      else await assert.rejects(result, conflict);
      // The next request is not delayed by the last one.
      await server.updateContainer(pod, container, undefined);
    });
  }
});

test("updates of other containers: conflicts, ignored failures, and never of the one that is created", async (t) => {
  const { server, plugin } = await withServer(t);
  let updates: ContainerUpdate[] = [];
  const methods = (mine: () => ContainerUpdate[]): PluginMethods => ({
    createContainer: async () => CreateContainerResponse.fromPartial({ update: mine() }),
    updateContainer: async () => UpdateContainerResponse.fromPartial({ update: mine() }),
    stopContainer: async () => StopContainerResponse.fromPartial({ update: mine() }),
  });
  await plugin(
    methods(() => [updating("c-2", "0")]),
    { index: "10" },
  );
  await plugin(
    methods(() => updates),
    { index: "20" },
  );
  const cpus = (all: readonly ContainerUpdate[]) =>
    all.map(({ containerId, linux }) => [containerId, linux?.resources?.cpu?.cpus]);
  updates = [updating("c-2", "1")];
  await assert.rejects(server.stopContainer(pod, container), /both tried to set CPUSetCPUs/);
  updates = [updating("c-2", "1", true), updating("c-3", "1")];
  assert.deepEqual(cpus(await server.stopContainer(pod, container)), [
    ["c-2", "0"],
    ["c-3", "1"],
  ]);
  updates = [updating("c-1", "1")];
  await assert.rejects(server.createContainer(pod, container), /asked update of "c-1" during creation/);
  const updated = await server.updateContainer(pod, container, container.linux?.resources);
  assert.deepEqual([updated.resources?.cpu?.cpus, updated.resources?.cpu?.shares?.value], ["1", 512n]);
  assert.deepEqual(cpus(updated.update), [["c-2", "0"]]);
});

test("a plugin that hangs or goes away is dropped, one that refuses is heard", async (t) => {
  const { server, plugin } = await withServer(t, { requestTimeout: 100 });
  const hanging = await plugin({ createContainer: () => new Promise(() => {}) }, { index: "10" });
  await plugin(adjusting({ env: [{ key: "A", value: "2" }] }), { index: "20" });
  const { adjust } = await server.createContainer(pod, container);
  assert.deepEqual(adjust.env, [{ key: "A", value: "2" }]);
  await hanging.closed;
  assert.deepEqual(server.plugins, ["20-test"]);
  const going = await plugin(
    {
      createContainer: async () => {
        going.close();
        return new Promise(() => {});
      },
    },
    { index: "30" },
  );
  await server.createContainer(pod, container);
  const refusing = await plugin(
    { createContainer: async () => Promise.reject(new Error("no CPUs left")) },
    { index: "40" },
  );
  await assert.rejects(server.createContainer(pod, container), /no CPUs left/);
  assert.deepEqual(server.plugins, ["20-test", "40-test"]);
  refusing.close();
  await eventually(async () => assert.deepEqual(server.plugins, ["20-test"]));
});

test("validators see what came of it, and who wanted it", async (t) => {
  const { server, plugin } = await withServer(t);
  await plugin(adjusting({ env: [{ key: "A", value: "2" }] }), { index: "10", name: "a" });
  let reject = false;
  const validator = await plugin(
    {
      validateContainerAdjustment: async ({ adjust, owners, plugins }) => {
        assert.deepEqual(adjust?.env, [{ key: "A", value: "2" }]);
        assert.deepEqual(owners?.owners["c-1"]?.compound[6]?.owners, { A: "10-a" });
        assert.deepEqual(
          plugins.map(({ name }) => name),
          ["a", "v"],
        );
        return { reject, reason: "not today" };
      },
    },
    { index: "20", name: "v", events: bit(Event.VALIDATE_CONTAINER_ADJUSTMENT) },
  );
  await server.createContainer(pod, container);
  reject = true;
  await assert.rejects(
    server.createContainer(pod, container),
    /validator plugin "20-v" rejected container adjustment, reason: not today/,
  );
  // A plugin must get the events that it requests.
  await assert.rejects(
    (async () => {
      await plugin({}, { index: "30", name: "w", events: bit(Event.CREATE_CONTAINER) });
      await server.createContainer(pod, container);
    })(),
    /no method createContainer/,
  );
  validator.close();
  await eventually(async () => assert.deepEqual(server.plugins, ["10-a", "30-w"]));
});

test("a plugin changes containers when it likes, even while it is asked", async (t) => {
  const failed = updating("gone", "1");
  const { server, plugin } = await withServer(t, { updateContainers: async () => [failed] });
  const asking = await plugin({
    createContainer: async () => {
      const answer = await asking.runtime.updateContainers({
        update: [updating("c-9", "1"), failed],
        evict: [],
      });
      assert.deepEqual(
        answer.failed.map(({ containerId }) => containerId),
        ["gone"],
      );
      return CreateContainerResponse.fromPartial({ adjust: { env: [{ key: "DONE", value: "1" }] } });
    },
  });
  const { adjust } = await server.createContainer(pod, container);
  assert.deepEqual(adjust.env, [{ key: "DONE", value: "1" }]);
});

test("what comes while a plugin is told what is there waits for it", async (t) => {
  const gate = Promise.withResolvers<NriState>();
  const { server, socketPath } = await withServer(t, { state: () => gate.promise });
  const seen: string[] = [];
  await testPlugin(socketPath, {
    synchronize: async () => {
      seen.push("synchronize");
      return { update: [], more: false };
    },
    runPodSandbox: async () => {
      seen.push("run");
      return {};
    },
  });
  await new Promise((resolve) => setTimeout(resolve, 50));
  const ran = server.runPodSandbox(pod);
  gate.resolve(empty);
  await ran;
  assert.deepEqual(seen, ["synchronize", "run"]);
});

test("a server that ends closes its connections and its socket; one that was killed is replaced", async (t) => {
  const { server, plugin, socketPath } = await withServer(t);
  const { closed } = await plugin({});
  await server.close();
  await closed;
  assert.equal(existsSync(socketPath), false);
  await server.start();
  await plugin({});
});
