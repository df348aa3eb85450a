import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, statSync } from "node:fs";
import { connect } from "node:net";
import { test } from "node:test";
import { Container, CreateContainerResponse, Event, StopContainerResponse } from "@dray/rpc/nri/v1alpha1";
import { eventuallyPasses } from "@dray/testing/eventually";
import { type PluginMethods, testPlugin } from "../testing/nri-plugin.ts";
import { adjusting, bit, container, empty, pod, updating, withServer } from "../testing/nri-server.ts";
import type { NriState } from "./server.ts";

test("a plugin registers, is configured, and receives the state", async (t) => {
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

test("synchronization splits a large state into parts, and applies the plugin's updates", async (t) => {
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
  await eventuallyPasses(async () =>
    assert.deepEqual(
      updates.map(({ containerId }) => containerId),
      ["c-3"],
    ),
  );
});

test("rejects plugins with an invalid registration, without one, or with unknown events", async (t) => {
  const { server, socketPath } = await withServer(t, { registrationTimeout: 100 });
  for (const options of [
    { index: "1" },
    { index: "ab" },
    { name: "" },
    { name: "a/b" },
    { name: "a".repeat(254) },
  ]) {
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

test("events go to plugins that request them, in the order of plugins, and one at a time", async (t) => {
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

test("a plugin that hangs or disconnects is dropped; the error of a plugin fails the request", async (t) => {
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
  await eventuallyPasses(async () => assert.deepEqual(server.plugins, ["20-test"]));
});

test("changes wait while a plugin is synchronized", async (t) => {
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
