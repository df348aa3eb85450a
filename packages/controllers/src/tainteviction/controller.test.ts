import assert from "node:assert/strict";
import { test } from "node:test";
import { Node, Pod } from "@dray/api/core/v1";
import { timeText } from "@dray/client";
import { startTaintEvictionController } from "@dray/controllers";
import { withCluster } from "../testing/cluster.ts";

test("a taint that is removed in time cancels the eviction, which an event reports", () =>
  withCluster(startTaintEvictionController, async (cluster) => {
    const { clock, client } = cluster;
    await cluster.node("a");
    const tolerations = [{ key: "k", operator: "Exists", effect: "NoExecute", tolerationSeconds: 100 }];
    const spec = { containers: [{ name: "c", image: "i" }], nodeName: "a", tolerations };
    await cluster.create(Pod, { metadata: { name: "p" }, spec });
    const taint = (...taints: object[]): Promise<Node> =>
      client.resource(Node).patch({ name: "a" }, "merge", { spec: { taints } });
    await taint({ key: "k", effect: "NoExecute", timeAdded: timeText(clock.now()) });
    await cluster.settle();
    clock.advance(50_000);
    await taint();
    await cluster.until("the event", async () => (await cluster.events()).length > 0);
    clock.advance(200_000);
    await cluster.settle();
    assert.deepEqual(await cluster.events(), ["Normal TaintManagerEviction Cancelling deletion of Pod d/p"]);
    assert.equal((await cluster.get(Pod, "p")).metadata.deletionTimestamp, undefined);
  }));
