import assert from "node:assert/strict";
import { test } from "node:test";
import { Node, Pod } from "@dray/api/core/v1";
import { startPodGarbageCollector } from "@dray/controllers";
import { type TestCluster, withCluster } from "../testing/cluster.ts";

const pod = (name: string, spec: object = {}, metadata: object = {}): object => ({
  metadata: { name, ...metadata },
  spec: { containers: [{ name: "c", image: "i" }], ...spec },
});

const forget = async (cluster: TestCluster, kind: typeof Pod | typeof Node, name: string): Promise<void> => {
  const ref = kind === Pod ? { namespace: "d", name } : { name };
  await cluster.client.resource<Pod | Node>(kind as typeof Pod).delete(ref);
};

test("a deleted pod that never had a node has failed, also where a finalizer keeps it", () =>
  withCluster(startPodGarbageCollector, async (cluster) => {
    const spec = { schedulingGates: [{ name: "g" }] };
    await cluster.create(Pod, pod("counted", spec, { finalizers: ["batch.kubernetes.io/job-tracking"] }));
    await forget(cluster, Pod, "counted");
    const phase = (): Promise<unknown> => cluster.get(Pod, "counted").then(({ status }) => status?.phase);
    await cluster.until("failed", async () => (await phase()) === "Failed");
  }));

test("the deletion of pods is finished on a node that is out of service, and on no other", () =>
  withCluster(startPodGarbageCollector, async (cluster) => {
    for (const name of ["a", "b"]) {
      await cluster.node(name);
      await cluster.run(await cluster.create(Pod, pod(`on-${name}`)), name);
      await forget(cluster, Pod, `on-${name}`);
    }
    const nodes = cluster.client.resource(Node);
    const conditions = [{ type: "Ready", status: "Unknown" }];
    await nodes.patch({ name: "a" }, "strategic", { status: { conditions } }, { subresource: "status" });
    await cluster.settle();
    await cluster.get(Pod, "on-a");
    const taints = [{ key: "node.kubernetes.io/out-of-service", value: "nodeshutdown", effect: "NoExecute" }];
    for (const name of ["a", "b"]) await nodes.patch({ name }, "merge", { spec: { taints } });
    await cluster.until("gone", async () => (await cluster.find(Pod, "on-a")) === undefined);
    await cluster.settle();
    await cluster.get(Pod, "on-b");
  }));

test("of pods that have ended the evicted and the oldest go, beyond those that are kept", () =>
  withCluster(
    (context) => startPodGarbageCollector(context, { maxTerminatedPods: 2 }),
    async (cluster) => {
      const { clock } = cluster;
      await cluster.node("a");
      for (const name of ["first", "second", "third", "evicted", "runs"]) {
        const { metadata } = await cluster.create(Pod, pod(name, { nodeName: "a" }));
        const reason = name === "evicted" ? { reason: "Evicted" } : {};
        const phase = name === "runs" ? "Running" : "Failed";
        await cluster.setStatus({ metadata } as Pod, { phase, ...reason });
        clock.advance(2_000);
      }
      clock.advance(20_000);
      await cluster.until("two are left", async () => (await cluster.list(Pod)).length === 3);
      await cluster.settle();
      const left = (await cluster.list(Pod)).map(({ metadata }) => metadata.name).sort();
      assert.deepEqual(left, ["runs", "second", "third"]);
    },
  ));
