import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type Container,
  type ContainerUpdate,
  CreateContainerResponse,
  Event,
  StopContainerResponse,
  UpdateContainerResponse,
} from "@dray/rpc/nri/v1alpha1";
import { eventuallyPasses } from "@dray/testing/eventually";
import type { PluginMethods } from "../testing/nri-plugin.ts";
import { adjusting, bit, container, pod, updating, withServer } from "../testing/nri-server.ts";

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

test("validators receive the result, and the plugin of each change", async (t) => {
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
  await eventuallyPasses(async () => assert.deepEqual(server.plugins, ["10-a", "30-w"]));
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
