import assert from "node:assert/strict";
import { test } from "node:test";
import { Pod, ReplicationController } from "@dray/api/core/v1";
import { startReplicationController } from "@dray/controllers";
import { killedAtEveryWrite, withCluster } from "../testing/cluster.ts";

const web = {
  metadata: { name: "web" },
  spec: {
    replicas: 2,
    selector: { app: "web" },
    template: { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "c", image: "one" }] } },
  },
};

test("a ReplicationController keeps its pods, takes in a stranger that matches, and counts those that serve", () =>
  withCluster(startReplicationController, async (cluster) => {
    await cluster.node("a");
    const stranger = await cluster.create(Pod, {
      metadata: { name: "stranger", labels: { app: "web" } },
      spec: { containers: [{ name: "c", image: "one" }] },
    });
    const owner = await cluster.create(ReplicationController, web);
    const pods = await cluster.until("two pods", async () => {
      const list = await cluster.list(Pod);
      return list.length === 2 && list.every(({ metadata }) => metadata.ownerReferences) && list;
    });
    assert.ok(pods.some(({ metadata }) => metadata.uid === stranger.metadata.uid));
    for (const { metadata } of pods) {
      assert.deepEqual(metadata.ownerReferences, [
        {
          apiVersion: "v1",
          kind: "ReplicationController",
          name: "web",
          uid: owner.metadata.uid,
          controller: true,
          blockOwnerDeletion: true,
        },
      ]);
    }
    for (const pod of pods) await cluster.run(pod, "a");
    const { status } = await cluster.until("available", async () => {
      const now = await cluster.get(ReplicationController, "web");
      return now.status?.availableReplicas === 2 && now;
    });
    assert.deepEqual(status, {
      replicas: 2,
      fullyLabeledReplicas: 2,
      readyReplicas: 2,
      availableReplicas: 2,
      observedGeneration: 1,
    });
    await cluster.client
      .resource(ReplicationController)
      .patch({ namespace: "d", name: "web" }, "merge", { spec: { replicas: 0 } });
    await cluster.until("none", async () => {
      await cluster.finishDeletions();
      return (await cluster.list(Pod)).length === 0;
    });
  }));

test("killed at any write, the next one goes on: no pod twice", () =>
  killedAtEveryWrite(startReplicationController, async (cluster) => {
    await cluster.create(ReplicationController, web);
    await cluster.until(
      "counted",
      async () => (await cluster.get(ReplicationController, "web")).status?.replicas === 2,
    );
    assert.equal((await cluster.list(Pod)).length, 2);
  }));
