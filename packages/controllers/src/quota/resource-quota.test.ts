import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigMap, PersistentVolumeClaim, Pod, ResourceQuota } from "@dray/api/core/v1";
import { servedResources, startClaimProtection, startResourceQuotaController } from "@dray/controllers";
import { type TestCluster, withCluster } from "../testing.ts";

const pod = (name: string, cpu: string, more: object = {}): object => ({
  metadata: { name },
  spec: { containers: [{ name: "c", image: "i", resources: { requests: { cpu } } }], ...more },
});

async function counts(cluster: TestCluster, used: Record<string, string>): Promise<void> {
  await cluster.until(`used is ${JSON.stringify(used)}`, async () => {
    const { status } = await cluster.get(ResourceQuota, "q");
    return Object.entries(used).every(([name, value]) => status?.used?.[name] === value);
  });
}

test("a quota shows what is used, takes what admission charges and gives back what ends or is deleted", () =>
  withCluster(
    async (context) => startResourceQuotaController(context, await servedResources(context)),
    async (cluster) => {
      await cluster.create(Pod, pod("before", "250m"));
      await cluster.create(ResourceQuota, {
        metadata: { name: "q" },
        spec: { hard: { "requests.cpu": "1", pods: "2", "count/configmaps": "5" } },
      });
      await counts(cluster, { "requests.cpu": "250m", pods: "1", "count/configmaps": "0" });
      await cluster.create(Pod, pod("after", "500m"));
      await cluster.create(ConfigMap, { metadata: { name: "m" } });
      await counts(cluster, { "requests.cpu": "750m", pods: "2", "count/configmaps": "1" });
      await assert.rejects(cluster.create(Pod, pod("more", "1m")), /exceeded quota: q/);
      const after = await cluster.get(Pod, "after");
      await cluster.setStatus(after, { phase: "Succeeded" });
      await counts(cluster, { "requests.cpu": "250m", pods: "1" });
      await cluster.client.resource(Pod).delete({ namespace: "d", name: "before" });
      await cluster.client.resource(ConfigMap).delete({ namespace: "d", name: "m" });
      await counts(cluster, { "requests.cpu": "0", pods: "0", "count/configmaps": "0" });
    },
  ));

test("a volume claim that is being deleted stays until no pod uses it", () =>
  withCluster(startClaimProtection, async (cluster) => {
    const spec = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } };
    await cluster.create(PersistentVolumeClaim, { metadata: { name: "v" }, spec });
    const volumes = [{ name: "v", persistentVolumeClaim: { claimName: "v" } }];
    await cluster.create(Pod, pod("p", "1m", { volumes }));
    const ref = { namespace: "d", name: "v" };
    await cluster.client.resource(PersistentVolumeClaim).delete(ref);
    await cluster.settle();
    assert.notEqual(await cluster.find(PersistentVolumeClaim, "v"), undefined);
    await cluster.client.resource(Pod).delete({ namespace: "d", name: "p" });
    await cluster.until(
      "the claim is gone",
      async () => (await cluster.find(PersistentVolumeClaim, "v")) === undefined,
    );
  }));
