import assert from "node:assert/strict";
import { test } from "node:test";
import { Pod } from "@dray/api/core/v1";
import { DeviceTaintRule, ResourceClaim } from "@dray/api/resource/v1";
import type { TestCluster } from "../testing/cluster.ts";
import { condition, driver, isLeaving, onCluster, rule } from "./testing.ts";

/** A running pod with the claim that a scheduler has made for its extended resources (KEP-5004). */
async function extendedUserOf(
  cluster: TestCluster,
  name: string,
  device: string,
  owner: string = name,
): Promise<void> {
  const resources = { limits: { "example.com/gpu": "1" } };
  const pod = await cluster.create(Pod, {
    metadata: { name },
    spec: { nodeName: "n", containers: [{ name: "c", image: "i", resources }] },
  });
  const { uid } = pod.metadata;
  const ownerReferences = [
    { apiVersion: "v1", kind: "Pod", name: owner, uid: owner === name ? uid : owner, controller: true },
  ];
  await cluster.create(ResourceClaim, {
    metadata: { name, ownerReferences, finalizers: ["resource.kubernetes.io/delete-protection"] },
    spec: { devices: { requests: [{ name: "gpu", exactly: { deviceClassName: "gpu" } }] } },
  });
  const results = [{ request: "gpu", driver, pool: "n", device }];
  await cluster.client
    .resource(ResourceClaim)
    .patch(
      { namespace: "d", name },
      "merge",
      { status: { allocation: { devices: { results } }, reservedFor: [{ resource: "pods", name, uid }] } },
      { subresource: "status" },
    );
  const mapping = { containerName: "c", resourceName: "example.com/gpu", requestName: "gpu" };
  await cluster.setStatus(pod, {
    phase: "Running",
    extendedResourceClaimStatus: { resourceClaimName: name, requestMappings: [mapping] },
  });
}

test("a pod that has its device as an extended resource is evicted, and counted before", () =>
  onCluster(async (cluster) => {
    await extendedUserOf(cluster, "hit", "gpu-0");
    await extendedUserOf(cluster, "foreign", "gpu-0", "somebody-else");
    await extendedUserOf(cluster, "spared", "gpu-1");
    const taint = { key: "broken", effect: "None" };
    const deviceSelector = { driver, device: "gpu-0" };
    await rule(cluster, "r", { deviceSelector, taint });
    await cluster.until("counted", async () =>
      (await condition(cluster, "r"))?.[2]?.includes("1 pod would be evicted in 1 namespace"),
    );
    await cluster.client
      .resource(DeviceTaintRule)
      .patch({ name: "r" }, "merge", { spec: { taint: { effect: "NoExecute" } } });
    await cluster.until("deleted", () => isLeaving(cluster, "hit"));
    await cluster.settle();
    for (const name of ["foreign", "spared"]) assert.equal(await isLeaving(cluster, name), false, name);
  }));
