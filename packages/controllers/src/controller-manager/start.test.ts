import assert from "node:assert/strict";
import { test } from "node:test";
import { ControllerRevision, DaemonSet, Deployment, ReplicaSet } from "@dray/api/apps/v1";
import { ConfigMap, Namespace, Pod, ServiceAccount } from "@dray/api/core/v1";
import { ResourceClaim, ResourceClaimTemplate } from "@dray/api/resource/v1";
import { type ControllerContext, type Controllers, startControllers } from "@dray/controllers";
import { type TestCluster, withCluster } from "../testing/cluster.ts";

const startAll = (context: ControllerContext): Promise<Controllers> =>
  startControllers({ ...context, rootCA: "PEM" });

const devices = { requests: [{ name: "gpu", exactly: { deviceClassName: "gpu" } }] };
const labels = { app: "web" };
const deployment = {
  metadata: { name: "web" },
  spec: {
    replicas: 3,
    selector: { matchLabels: labels },
    template: {
      metadata: { labels },
      spec: {
        containers: [{ name: "c", image: "i", resources: { claims: [{ name: "gpu" }] } }],
        resourceClaims: [{ name: "gpu", resourceClaimTemplateName: "template" }],
      },
    },
  },
};

async function withClaims(cluster: TestCluster, count: number): Promise<readonly Pod[]> {
  return cluster.until(`${count} pods with claims`, async () => {
    const pods = await cluster.list(Pod);
    const names = new Set(
      pods.flatMap(({ status }) => status?.resourceClaimStatuses?.map((entry) => entry.resourceClaimName)),
    );
    return pods.length === count && names.size === count && pods;
  });
}

async function left(cluster: TestCluster, namespace = "d"): Promise<string[]> {
  const kinds = [Deployment, ReplicaSet, DaemonSet, ControllerRevision, Pod, ResourceClaim];
  const lists = await Promise.all(kinds.map((kind) => cluster.list<never>(kind as never, namespace)));
  return lists.flatMap((list, index) => list.map(() => kinds[index]?.kind ?? ""));
}

test("a Deployment whose pods claim devices: three claims, and nothing stays when it is deleted", () =>
  withCluster(startAll, async (cluster) => {
    await cluster.node("a");
    await cluster.create(ResourceClaimTemplate, {
      metadata: { name: "template" },
      spec: { spec: { devices } },
    });
    await cluster.create(Deployment, deployment);
    const pods = await withClaims(cluster, 3);
    assert.equal((await cluster.list(ResourceClaim)).length, 3);
    for (const pod of pods) await cluster.run(pod, "a");
    await cluster.until(
      "available",
      async () => (await cluster.get(Deployment, "web")).status?.availableReplicas === 3,
    );
    await cluster.client
      .resource(Deployment)
      .delete({ namespace: "d", name: "web" }, { propagationPolicy: "Background" });
    await cluster.until("all gone", async () => {
      for (const pod of await cluster.list(Pod))
        if (pod.metadata.deletionTimestamp !== undefined)
          await cluster.client
            .resource(Pod)
            .delete({ namespace: "d", name: pod.metadata.name }, { gracePeriodSeconds: 0 });
      return (await left(cluster)).length === 0;
    });
  }));

test("a namespace that is deleted takes its workloads along, and none of them comes back", () =>
  withCluster(startAll, async (cluster) => {
    await cluster.node("a");
    await cluster.create(Namespace, { metadata: { name: "n" }, spec: {} });
    await cluster.create(DaemonSet, {
      metadata: { namespace: "n", name: "ds" },
      spec: {
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name: "c", image: "i" }] } },
      },
    });
    await cluster.create(Deployment, {
      ...deployment,
      metadata: { namespace: "n", name: "web" },
      spec: {
        ...deployment.spec,
        template: { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "c", image: "i" }] } },
      },
    });
    await cluster.until("pods", async () => (await cluster.list(Pod, "n")).length === 4);
    await cluster.until(
      "account",
      async () => (await cluster.find(ServiceAccount, "default", "n")) !== undefined,
    );
    await cluster.client.resource(Namespace).delete({ name: "n" });
    await cluster.until("gone", async () => (await cluster.find(Namespace, "n")) === undefined);
    assert.deepEqual(await left(cluster, "n"), []);
    assert.equal(await cluster.find(ConfigMap, "kube-root-ca.crt", "n"), undefined);
  }));

test("controllers that come back take up what happened while they were away, and make nothing twice", () =>
  withCluster(startAll, async (cluster) => {
    await cluster.node("a");
    await cluster.create(ResourceClaimTemplate, {
      metadata: { name: "template" },
      spec: { spec: { devices } },
    });
    await cluster.create(Deployment, deployment);
    const pods = await withClaims(cluster, 3);
    let running: Controllers | undefined;
    await cluster.restart(
      async () => {
        await cluster.client.resource(Pod).delete({ namespace: "d", name: pods[0]?.metadata.name ?? "" });
        await cluster.settle();
        assert.equal((await cluster.list(Pod)).length, 2, "nobody is at work");
      },
      async (context) => {
        running = await startAll(context);
        return running;
      },
    );
    await withClaims(cluster, 3);
    await cluster.until(
      "the lost pod's claim is gone",
      async () => (await cluster.list(ResourceClaim)).length === 3,
    );
    assert.ok(running);
  }));
