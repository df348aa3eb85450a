import assert from "node:assert/strict";
import { test } from "node:test";
import { ReplicaSet } from "@dray/api/apps/v1";
import { ConfigMap, Event, Namespace, Pod } from "@dray/api/core/v1";
import { servedResources, startNamespaceController } from "@dray/controllers";
import { type TestCluster, withCluster } from "../testing/cluster.ts";

const pod = (name: string, spec: object = {}, metadata: object = {}): object => ({
  metadata: { name, ...metadata },
  spec: { containers: [{ name: "c", image: "i" }], ...spec },
});

async function owner(cluster: TestCluster, name: string, metadata: object = {}): Promise<ConfigMap> {
  return cluster.create(ConfigMap, { metadata: { name, ...metadata } });
}

test("namespace: emptied, the pods first, with conditions that say what is left, then gone", () =>
  withCluster(
    async (context) => startNamespaceController(context, await servedResources(context)),
    async (cluster) => {
      await cluster.create(Pod, pod("held", {}, { finalizers: ["example.com/hold"] }));
      await owner(cluster, "map");
      const involvedObject = { apiVersion: "v1", kind: "Pod", name: "held", namespace: "d" };
      await cluster.create(Event, { metadata: { name: "event" }, involvedObject });
      await cluster.create(ReplicaSet, {
        metadata: { name: "rs" },
        spec: {
          replicas: 0,
          selector: { matchLabels: { a: "b" } },
          template: { ...pod("x"), metadata: { labels: { a: "b" } } },
        },
      });
      await cluster.client.resource(Namespace).delete({ name: "d" });
      const remaining = await cluster.until("conditions", async () => {
        const { status } = await cluster.get(Namespace, "d");
        return status?.conditions?.find(
          ({ type, status: state }) => type === "NamespaceFinalizersRemaining" && state === "True",
        );
      });
      assert.match(remaining.message ?? "", /example\.com\/hold in 1 resource instances/);
      await cluster.get(ConfigMap, "map");
      await cluster.client
        .resource(Pod)
        .patch({ namespace: "d", name: "held" }, "merge", { metadata: { finalizers: null } });
      await cluster.until("gone", async () => (await cluster.find(Namespace, "d")) === undefined);
      assert.equal(await cluster.find(ConfigMap, "map"), undefined);
      assert.equal(await cluster.find(ReplicaSet, "rs"), undefined);
      assert.equal(await cluster.find(Event, "event"), undefined);
    },
  ));
