import assert from "node:assert/strict";
import { test } from "node:test";
import { Node, Pod } from "@dray/api/core/v1";
import { timeText } from "@dray/client";
import { startTaintEvictionController } from "@dray/controllers";
import { withCluster } from "../testing/cluster.ts";

const pod = (name: string, spec: object = {}, metadata: object = {}): object => ({
  metadata: { name, ...metadata },
  spec: { containers: [{ name: "c", image: "i" }], ...spec },
});

test("a NoExecute taint evicts at once, after the seconds tolerated, or never", () =>
  withCluster(startTaintEvictionController, async (cluster) => {
    const { clock, client } = cluster;
    await cluster.node("a");
    const toleration = { key: "k", operator: "Exists", effect: "NoExecute" };
    await cluster.create(Pod, pod("none", { nodeName: "a" }));
    await cluster.create(
      Pod,
      pod("some", { nodeName: "a", tolerations: [{ ...toleration, tolerationSeconds: 100 }] }),
    );
    await cluster.create(Pod, pod("ever", { nodeName: "a", tolerations: [toleration] }));
    await cluster.settle();
    assert.equal((await cluster.list(Pod)).filter(({ metadata }) => metadata.deletionTimestamp).length, 0);
    const timeAdded = timeText(clock.now());
    await client
      .resource(Node)
      .patch({ name: "a" }, "merge", { spec: { taints: [{ key: "k", effect: "NoExecute", timeAdded }] } });
    const evictedPods = async (): Promise<string> =>
      (await cluster.list(Pod))
        .filter(({ metadata }) => metadata.deletionTimestamp)
        .map(({ metadata }) => metadata.name)
        .sort()
        .join();
    await cluster.until("none is evicted", async () => (await evictedPods()) === "none");
    const condition = (await cluster.get(Pod, "none")).status?.conditions?.find(
      ({ type }) => type === "DisruptionTarget",
    );
    assert.deepEqual([condition?.status, condition?.reason], ["True", "DeletionByTaintManager"]);
    clock.advance(90_000);
    await cluster.settle();
    assert.equal(await evictedPods(), "none");
    clock.advance(10_000);
    await cluster.until("some is evicted", async () => (await evictedPods()) === "none,some");
    clock.advance(10_000_000);
    await cluster.settle();
    assert.equal(await evictedPods(), "none,some");
  }));
