import assert from "node:assert/strict";
import { test } from "node:test";
import { Node, Pod } from "@dray/api/core/v1";
import { startPodGarbageCollector } from "@dray/controllers";
import { withCluster } from "../testing/cluster.ts";

const pod = (name: string, spec: object = {}, metadata: object = {}): object => ({
  metadata: { name, ...metadata },
  spec: { containers: [{ name: "c", image: "i" }], ...spec },
});

test("pods of a node that is gone, and deleted ones that never had one, are removed", () =>
  withCluster(startPodGarbageCollector, async (cluster) => {
    const { clock, client } = cluster;
    await cluster.node("a");
    await cluster.node("b");
    const finalizers = ["example.com/hold"];
    await cluster.create(Pod, pod("on-a", { nodeName: "a" }, { finalizers }));
    await cluster.create(Pod, pod("on-b", { nodeName: "b" }));
    await cluster.create(Pod, pod("waits", { schedulingGates: [{ name: "g" }] }));
    await client.resource(Node).delete({ name: "a" });
    await cluster.settle();
    clock.advance(30_000);
    await cluster.settle();
    assert.equal(
      (await cluster.get(Pod, "on-a")).metadata.deletionTimestamp,
      undefined,
      "the node may come back",
    );
    clock.advance(10_000);
    const lost = await cluster.until("deleted", async () => {
      const found = await cluster.get(Pod, "on-a");
      return found.metadata.deletionTimestamp !== undefined && found;
    });
    assert.equal(lost.status?.phase, "Failed");
    assert.equal(
      lost.status?.conditions?.find(({ type }) => type === "DisruptionTarget")?.reason,
      "DeletionByPodGC",
    );
    assert.equal((await cluster.get(Pod, "on-b")).metadata.deletionTimestamp, undefined);
  }));
