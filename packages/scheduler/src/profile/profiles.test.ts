import assert from "node:assert/strict";
import { test } from "node:test";
import { featuresOf } from "@dray/api";
import { Node, Pod } from "@dray/api/core/v1";
import { ResourceSlice } from "@dray/api/resource/v1";
import {
  type Plugin,
  type PluginHandle,
  ProfileError,
  readSchedulerConfiguration,
  type SchedulerConfiguration,
} from "@dray/scheduler";
import { type TestCluster, uses, withCluster } from "../testing/cluster.ts";

const configured = (fields: object): SchedulerConfiguration =>
  readSchedulerConfiguration(
    {
      apiVersion: "kubescheduler.config.k8s.io/v1",
      kind: "KubeSchedulerConfiguration",
      ...fields,
    },
    featuresOf(),
  );
const asks = (cpu: string, schedulerName: string): object => ({
  schedulerName,
  containers: [{ name: "c", image: "i", resources: { requests: { cpu } } }],
});

test("each profile has its own plugins, and reports under its own name", () =>
  withCluster(async (cluster) => {
    await cluster.node("n1", { spec: { taints: [{ key: "k", effect: "NoSchedule" }] } });
    const configuration = configured({
      profiles: [
        { schedulerName: "strict" },
        {
          schedulerName: "tolerant",
          plugins: { filter: { disabled: [{ name: "TaintToleration" }] } },
        },
      ],
    });
    await cluster.scheduler(undefined, { configuration });
    await cluster.pod("by-strict", asks("1", "strict"));
    await cluster.pod("by-tolerant", asks("1", "tolerant"));
    await cluster.pod("by-default", asks("1", "default-scheduler"));
    assert.match(await cluster.refused("by-strict"), /1 node\(s\) had untolerated taint\(s\)/);
    assert.equal(await cluster.bound("by-tolerant"), "n1");
    await cluster.settle();
    assert.equal((await cluster.get(Pod, "by-default")).status?.conditions, undefined);
  }));

test("the arguments of a profile reach its plugins", () =>
  withCluster(async (cluster) => {
    await cluster.gpuClass();
    for (const name of ["n1", "n2"]) await cluster.node(name);
    await cluster.create(ResourceSlice, {
      metadata: { name: "s" },
      spec: {
        driver: "gpu.example.com",
        pool: { name: "p", generation: 1, resourceSliceCount: 1 },
        nodeName: "n1",
        devices: [{ name: "d", bindingConditions: ["attached"], bindingFailureConditions: ["broken"] }],
      },
    });
    const fit = { scoringStrategy: { type: "MostAllocated", resources: [{ name: "cpu", weight: 1 }] } };
    const configuration = configured({
      profiles: [
        {
          schedulerName: "packing",
          plugins: { score: { disabled: [{ name: "*" }], enabled: [{ name: "NodeResourcesFit" }] } },
          pluginConfig: [
            { name: "NodeResourcesFit", args: fit },
            { name: "DynamicResources", args: { bindingTimeout: "3s" } },
          ],
        },
      ],
    });
    await cluster.scheduler(undefined, { configuration });
    const nodes = new Set<string>();
    for (const name of ["a", "b", "c"]) {
      await cluster.pod(name, asks("1", "packing"));
      nodes.add(await cluster.bound(name));
    }
    assert.equal(nodes.size, 1);
    await cluster.claim("c1");
    const begun = cluster.clock.now();
    await cluster.pod("attached", { ...uses("c1"), schedulerName: "packing" });
    assert.match(await cluster.refused("attached", "SchedulerError"), /timeout/);
    assert.ok(cluster.clock.now() - begun < 60_000);
  }));

test("schedulers of different names share a cluster", () =>
  withCluster(async (cluster) => {
    await cluster.node("n1", { allocatable: { cpu: "2" } });
    await cluster.scheduler();
    await cluster.scheduler(undefined, { name: "second" });
    await cluster.pod("a", asks("1", "second"));
    await cluster.pod("b", asks("1", "default-scheduler"));
    assert.deepEqual([await cluster.bound("a"), await cluster.bound("b")], ["n1", "n1"]);
    await cluster.pod("c", asks("1", "second"));
    assert.match(await cluster.refused("c"), /1 Insufficient cpu/);
  }));

test("with the same seed the same objects get the same placements", async () => {
  const placements = async (): Promise<string[]> => {
    const nodes: string[] = [];
    await withCluster(async (cluster) => {
      for (const name of ["n1", "n2", "n3", "n4", "n5"]) await cluster.node(name);
      let seed = 42;
      const random = (): number => {
        seed = (seed * 1103515245 + 12345) % 2147483648;
        return seed / 2147483648;
      };
      await cluster.scheduler(undefined, { random });
      for (let i = 0; i < 8; i++) {
        await cluster.pod(`p${i}`);
        nodes.push(await cluster.bound(`p${i}`));
      }
    });
    return nodes;
  };
  assert.deepEqual(await placements(), await placements());
});

/** A plugin that makes pods wait until the test allows them. */
function holding(timeout: number): {
  readonly plugins: (handle: PluginHandle) => readonly Plugin[];
  handle(): PluginHandle;
} {
  let handle: PluginHandle | undefined;
  const hold: Plugin = {
    name: "Hold",
    permit: () => ({ type: "wait", timeout }),
    mayHelp: () => false,
  };
  return {
    plugins(given) {
      handle = given;
      return [hold];
    },
    handle: () => handle!,
  };
}

const waiting = (cluster: TestCluster, handle: PluginHandle): Promise<string> =>
  cluster.until("a pod waits", async () => handle.waiting.pods[0]?.metadata.uid);

test("Permit holds a pod back until it is allowed", () =>
  withCluster(async (cluster) => {
    await cluster.node("n1");
    const { plugins, handle } = holding(3_600_000);
    await cluster.scheduler(undefined, { plugins });
    await cluster.pod("p");
    const uid = await waiting(cluster, handle());
    await cluster.settle();
    assert.equal((await cluster.get(Pod, "p")).spec.nodeName, undefined);
    handle().waiting.allow(uid, "Other");
    assert.equal(handle().waiting.has(uid), true);
    handle().waiting.allow(uid, "Hold");
    assert.equal(await cluster.bound("p"), "n1");
  }));

test("a pod that is not allowed in time is rejected and releases its room", () =>
  withCluster(async (cluster) => {
    await cluster.node("n1");
    const { plugins, handle } = holding(5_000);
    await cluster.scheduler(undefined, { plugins });
    await cluster.pod("p", asks("3", "default-scheduler"));
    await waiting(cluster, handle());
    assert.equal(
      await cluster.refused("p"),
      "0/1 nodes are available: 1 rejected due to timeout after waiting 5s at plugin Hold.",
    );
    await cluster.pod("q", asks("3", "default-scheduler"));
    const uid = await waiting(cluster, handle());
    assert.equal(uid, (await cluster.get(Pod, "q")).metadata.uid);
  }));

test("a pod that is deleted while Permit holds it back releases its room", () =>
  withCluster(async (cluster) => {
    await cluster.node("n1");
    const { plugins, handle } = holding(3_600_000);
    await cluster.scheduler(undefined, { plugins });
    await cluster.pod("p", asks("3", "default-scheduler"));
    await waiting(cluster, handle());
    await cluster.pod("q", asks("3", "default-scheduler"));
    await cluster.refused("q");
    await cluster.remove("p");
    const { uid } = (await cluster.get(Pod, "q")).metadata;
    await cluster.until("the other waits", async () => handle().waiting.has(uid));
  }));

test("plugins of the caller reserve, score and bind", () =>
  withCluster(async (cluster) => {
    for (const name of ["n1", "n2"]) await cluster.node(name);
    const calls: string[] = [];
    const own: Plugin = {
      name: "Own",
      preScore: (_state, _pod, nodes) => {
        calls.push(`preScore ${nodes.length}`);
        return undefined;
      },
      score: (_state, _pod, node) => (node.name === "n2" ? 1 : 0),
      normalize: (scores) => {
        for (const [node, score] of scores) scores.set(node, score * 10_000);
      },
      reserve: () => void calls.push("reserve"),
      permit: () => ({ type: "allow" }),
      preBind: async () => void calls.push("preBind"),
      async bind() {
        calls.push("bind");
        return false;
      },
      postBind: () => void calls.push("postBind"),
      mayHelp: () => false,
    };
    await cluster.scheduler(undefined, { plugins: () => [own] });
    await cluster.pod("p");
    assert.equal(await cluster.bound("p"), "n2");
    await cluster.until("it is over", async () => calls.includes("postBind"));
    assert.deepEqual(calls, ["preScore 2", "reserve", "preBind", "bind", "postBind"]);
  }));

test("a rejection by Reserve is one of the plugin, and waits for what helps it", () =>
  withCluster(async (cluster) => {
    await cluster.node("n1");
    let full = true;
    const own: Plugin = {
      name: "Own",
      reserve: () => (full ? { plugin: "Own", reasons: ["no licence"], resolvable: false } : undefined),
      mayHelp: (_pod, { kind }) => kind === "node",
    };
    await cluster.scheduler(undefined, { plugins: () => [own] });
    await cluster.pod("p");
    assert.equal(await cluster.refused("p"), "0/1 nodes are available: 1 no licence.");
    full = false;
    await cluster.node("n2", { spec: { unschedulable: true } });
    assert.equal(await cluster.bound("p"), "n1");
  }));

test("plugins of the caller are asked when annotations or conditions of a node change, not at heartbeats", () =>
  withCluster(async (cluster) => {
    await cluster.node("n1");
    const isLicensed = ({ metadata, status }: Node): boolean =>
      metadata.annotations?.["example.com/licence"] === "yes" &&
      (status?.conditions ?? []).some(({ type, status }) => type === "Licensed" && status === "True");
    let asked = 0;
    const own: Plugin = {
      name: "Licences",
      filter: (_state, _pod, { node }) =>
        isLicensed(node) ? undefined : { plugin: "Licences", reasons: ["no licence"], resolvable: false },
      mayHelp(_pod, event) {
        if (event.kind !== "node" || event.change !== "update") return false;
        asked++;
        return isLicensed(event.node);
      },
    };
    await cluster.scheduler(undefined, { plugins: () => [own] });
    await cluster.pod("p");
    assert.match(await cluster.refused("p"), /no licence/);
    const nodes = cluster.client.resource(Node);
    const annotations = { "example.com/licence": "yes" };
    await nodes.patch({ name: "n1" }, "merge", { metadata: { annotations } });
    await cluster.until("the annotation is seen", async () => asked === 1);
    const condition = (status: string, lastHeartbeatTime: string): Promise<unknown> =>
      nodes.patch(
        { name: "n1" },
        "strategic",
        { status: { conditions: [{ type: "Licensed", status, lastHeartbeatTime }] } },
        { subresource: "status" },
      );
    await condition("False", "2026-01-01T00:00:00Z");
    await cluster.until("the condition is seen", async () => asked === 2);
    await condition("False", "2026-01-01T00:00:10Z");
    await cluster.settle();
    assert.equal(asked, 2);
    await condition("True", "2026-01-01T00:00:20Z");
    assert.equal(await cluster.bound("p"), "n1");
  }));

test("a profile whose plugins do not work together is refused", () =>
  withCluster(async (cluster) => {
    const starting = (plugins: object): Promise<unknown> =>
      cluster.scheduler(undefined, { configuration: configured({ profiles: [{ plugins }] }) });
    for (const [plugins, message] of [
      [
        { filter: { enabled: [{ name: "Nobody" }] } },
        /plugins\.filter: plugin "Nobody" does not exist; there are .*NodePorts/,
      ],
      [
        { filter: { enabled: [{ name: "PrioritySort" }] } },
        /plugin "PrioritySort" does not take part in filter/,
      ],
      [
        { filter: { enabled: [{ name: "NodePorts" }, { name: "NodePorts" }] } },
        /"NodePorts" is enabled twice/,
      ],
      [{ bind: { disabled: [{ name: "*" }] } }, /at least one bind plugin is needed/],
      [
        { multiPoint: { disabled: [{ name: "PrioritySort" }] } },
        /one queue sort plugin is needed, and 0 are enabled/,
      ],
    ] as const)
      await assert.rejects(
        starting(plugins),
        (error) => error instanceof ProfileError && message.test(error.message),
      );
  }));
