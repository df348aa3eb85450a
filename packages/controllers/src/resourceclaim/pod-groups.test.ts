import assert from "node:assert/strict";
import { test } from "node:test";
import { Pod } from "@dray/api/core/v1";
import { ResourceClaim, ResourceClaimTemplate } from "@dray/api/resource/v1";
import { PodGroup as AlphaPodGroup } from "@dray/api/scheduling/v1alpha2";
import { PodGroup } from "@dray/api/scheduling/v1beta1";
import {
  type Controller,
  type ControllerContext,
  servedResources,
  startResourceClaimController,
} from "@dray/controllers";
import { type TestCluster, type TestOptions, withCluster } from "../testing/cluster.ts";
import { afterEachCrash } from "../testing/crashes.ts";

const finalizer = "resource.kubernetes.io/delete-protection";
const devices = { requests: [{ name: "gpu", exactly: { deviceClassName: "gpu" } }] };
const allocation = {
  devices: { results: [{ request: "gpu", driver: "gpu.example.com", pool: "n", device: "gpu-0" }] },
};
const withGroups: TestOptions = {
  featureGates: { GenericWorkload: true, DRAWorkloadResourceClaims: true },
  runtimeConfig: { "scheduling.k8s.io/v1beta1": true },
};

const start = async (context: ControllerContext): Promise<Controller> =>
  startResourceClaimController(context, await servedResources(context));
const onCluster = (run: (cluster: TestCluster) => Promise<void>, options = withGroups): Promise<void> =>
  withCluster(start, run, options);

const shared = { name: "gpu", resourceClaimTemplateName: "template" };

async function template(cluster: TestCluster): Promise<void> {
  await cluster.create(ResourceClaimTemplate, {
    metadata: { name: "template" },
    spec: { spec: { devices } },
  });
}

function groupOf(name: string, resourceClaims: readonly object[] = [shared]): object {
  return { metadata: { name }, spec: { schedulingPolicy: { basic: {} }, resourceClaims } };
}

function memberOf(
  group: string,
  name: string,
  resourceClaims: readonly object[] = [shared],
  more: object = {},
): object {
  return {
    metadata: { name },
    spec: {
      containers: [{ name: "c", image: "i" }],
      resourceClaims,
      schedulingGroup: { podGroupName: group },
      ...more,
    },
  };
}

/** The names of claims that an object's status records, by entry. */
async function recorded(
  cluster: TestCluster,
  kind: typeof Pod | typeof PodGroup,
  name: string,
  count = 1,
): Promise<Record<string, string>> {
  return cluster.until(`claims of ${name} are recorded`, async () => {
    const { status } = await cluster.get<Pod | PodGroup>(kind as typeof Pod, name);
    const entries = status?.resourceClaimStatuses ?? [];
    if (entries.length < count) return undefined;
    return Object.fromEntries(entries.map((entry) => [entry.name, entry.resourceClaimName ?? ""]));
  });
}

async function allocate(cluster: TestCluster, name: string, reservedFor: readonly object[]): Promise<void> {
  const claims = cluster.client.resource(ResourceClaim);
  const ref = { namespace: "d", name };
  await claims.patch(ref, "merge", { metadata: { finalizers: [finalizer] } });
  await claims.patch(ref, "merge", { status: { allocation, reservedFor } }, { subresource: "status" });
}

test("a group has one claim, which its pods share", () =>
  onCluster(async (cluster) => {
    await template(cluster);
    // Pods that come before their group wait for it.
    for (const name of ["one", "two"]) await cluster.create(Pod, memberOf("g", name));
    await cluster.settle();
    assert.equal((await cluster.list(ResourceClaim)).length, 0);
    const group = await cluster.create(PodGroup, groupOf("g"));
    const { gpu = "" } = await recorded(cluster, PodGroup, "g");
    for (const name of ["one", "two"]) assert.deepEqual(await recorded(cluster, Pod, name), { gpu });
    const [claim, ...more] = await cluster.list(ResourceClaim);
    assert.equal(more.length, 0);
    assert.match(claim?.metadata.name ?? "", /^g-gpu-[a-z0-9]{5}$/);
    assert.deepEqual(claim?.metadata.annotations, { "resource.kubernetes.io/pod-claim-name": "gpu" });
    const { uid } = group.metadata;
    const owner = {
      apiVersion: "scheduling.k8s.io/v1beta1",
      kind: "PodGroup",
      name: "g",
      uid,
      controller: true,
    };
    assert.deepEqual(claim?.metadata.ownerReferences, [owner]);
  }));

test("an entry that differs from the group's has a claim of the pod's own", () =>
  onCluster(async (cluster) => {
    await template(cluster);
    await cluster.create(ResourceClaimTemplate, { metadata: { name: "other" }, spec: { spec: { devices } } });
    await cluster.create(PodGroup, groupOf("g"));
    const own = { name: "gpu", resourceClaimTemplateName: "other" };
    const pod = await cluster.create(Pod, memberOf("g", "p", [own]));
    const { gpu = "" } = await recorded(cluster, Pod, "p");
    const claim = await cluster.get(ResourceClaim, gpu);
    assert.equal(claim.metadata.ownerReferences?.[0]?.uid, pod.metadata.uid);
  }));

test("a claim of the group that vanishes is made again, and the group keeps its others", () =>
  onCluster(async (cluster) => {
    await template(cluster);
    const second = { name: "nic", resourceClaimTemplateName: "template" };
    await cluster.create(PodGroup, groupOf("g", [shared, second]));
    await cluster.create(Pod, memberOf("g", "p", [shared, second]));
    const before = await recorded(cluster, PodGroup, "g", 2);
    await cluster.client.resource(ResourceClaim).delete({ namespace: "d", name: before["gpu"] ?? "" });
    const after = await cluster.until("another claim", async () => {
      const names = await recorded(cluster, PodGroup, "g", 2);
      return names["gpu"] !== before["gpu"] && names;
    });
    assert.equal(after["nic"], before["nic"]);
    await cluster.until("the pod has it, too", async () => {
      const names = await recorded(cluster, Pod, "p", 2);
      return names["gpu"] === after["gpu"];
    });
  }));

test("of a group that is being deleted a pod keeps the name of a claim that is gone, and reserves no other's", () =>
  onCluster(async (cluster) => {
    await template(cluster);
    await cluster.create(ResourceClaimTemplate, { metadata: { name: "other" }, spec: { spec: { devices } } });
    await cluster.create(PodGroup, groupOf("g"));
    const own = { name: "nic", resourceClaimTemplateName: "other" };
    await cluster.create(Pod, memberOf("g", "p", [shared, own], { nodeName: "n" }));
    const before = await recorded(cluster, Pod, "p", 2);
    const { gpu = "", nic = "" } = before;
    const groups = cluster.client.resource(PodGroup);
    await groups.patch({ namespace: "d", name: "g" }, "merge", {
      metadata: { finalizers: ["example.com/hold"] },
    });
    await groups.delete({ namespace: "d", name: "g" });
    await cluster.settle();
    const claims = cluster.client.resource(ResourceClaim);
    await claims.delete({ namespace: "d", name: gpu });
    // Somebody makes another claim of that name.
    await cluster.create(ResourceClaim, { metadata: { name: gpu }, spec: { devices } });
    await allocate(cluster, gpu, []);
    await claims.delete({ namespace: "d", name: nic });
    const after = await cluster.until("another claim of its own", async () => {
      const names = await recorded(cluster, Pod, "p");
      return names["nic"] !== nic && names;
    });
    assert.deepEqual(after, { gpu, nic: after["nic"] });
    await cluster.settle();
    assert.equal((await cluster.get(ResourceClaim, gpu)).status?.reservedFor, undefined);
  }));

test("the devices of a group are given back when the group is gone, not when a pod is", () =>
  onCluster(async (cluster) => {
    await template(cluster);
    const group = await cluster.create(PodGroup, groupOf("g"));
    await cluster.create(Pod, memberOf("g", "p"));
    const { gpu = "" } = await recorded(cluster, PodGroup, "g");
    const { name, uid } = group.metadata;
    await allocate(cluster, gpu, [{ apiGroup: "scheduling.k8s.io", resource: "podgroups", name, uid }]);
    await cluster.client.resource(Pod).delete({ namespace: "d", name: "p" }, { gracePeriodSeconds: 0 });
    await cluster.settle();
    assert.deepEqual((await cluster.get(ResourceClaim, gpu)).status?.allocation, allocation);
    const ref = { namespace: "d", name: "g" };
    await cluster.client.resource(PodGroup).patch(ref, "merge", { metadata: { finalizers: null } });
    await cluster.client.resource(PodGroup).delete(ref);
    await cluster.until("given back", async () => {
      const { metadata, status } = await cluster.get(ResourceClaim, gpu);
      return status?.allocation === undefined && (metadata.finalizers ?? []).length === 0;
    });
  }));

test("a reservation of another group of the name is stale", () =>
  onCluster(async (cluster) => {
    await cluster.create(PodGroup, groupOf("g", []));
    await cluster.create(ResourceClaim, { metadata: { name: "c" }, spec: { devices } });
    const uid = "00000000-0000-4000-8000-000000000000";
    await allocate(cluster, "c", [{ apiGroup: "scheduling.k8s.io", resource: "podgroups", name: "g", uid }]);
    await cluster.until(
      "given back",
      async () => (await cluster.get(ResourceClaim, "c")).status?.allocation === undefined,
    );
  }));

test("a pod that was bound without the scheduler reserves the group's claim for the group", () =>
  onCluster(async (cluster) => {
    const named = { name: "gpu", resourceClaimName: "c" };
    await cluster.create(ResourceClaim, { metadata: { name: "c" }, spec: { devices } });
    await allocate(cluster, "c", []);
    const group = await cluster.create(PodGroup, groupOf("g", [named]));
    await cluster.create(Pod, memberOf("g", "p", [named], { nodeName: "n" }));
    await cluster.create(Pod, memberOf("g", "q", [named], { nodeName: "n" }));
    const reservedFor = await cluster.until("reserved", async () => {
      const { status } = await cluster.get(ResourceClaim, "c");
      return (status?.reservedFor?.length ?? 0) > 0 && status?.reservedFor;
    });
    const { uid } = group.metadata;
    assert.deepEqual(reservedFor, [{ apiGroup: "scheduling.k8s.io", resource: "podgroups", name: "g", uid }]);
  }));

test("without the gate a group has no claims, and pods that count on them none either", () =>
  onCluster(
    async (cluster) => {
      await template(cluster);
      await cluster.create(PodGroup, groupOf("g"));
      await cluster.create(Pod, memberOf("g", "p"));
      // The field of the group was dropped, so that the claim is the pod's.
      const { gpu = "" } = await recorded(cluster, Pod, "p");
      const claim = await cluster.get(ResourceClaim, gpu);
      assert.equal(claim.metadata.ownerReferences?.[0]?.kind, "Pod");
    },
    { ...withGroups, featureGates: { GenericWorkload: true } },
  ));

test("1.36 has groups in v1alpha2", () =>
  onCluster(
    async (cluster) => {
      await template(cluster);
      await cluster.create(AlphaPodGroup, groupOf("g"));
      await cluster.create(Pod, memberOf("g", "p"));
      const { gpu = "" } = await recorded(cluster, Pod, "p");
      const claim = await cluster.get(ResourceClaim, gpu);
      assert.equal(claim.metadata.ownerReferences?.[0]?.apiVersion, "scheduling.k8s.io/v1alpha2");
    },
    {
      kubernetesVersion: "1.36",
      featureGates: { GenericWorkload: true, DRAWorkloadResourceClaims: true },
      runtimeConfig: { "scheduling.k8s.io/v1alpha2": true },
    },
  ));

test("killed before any of its writes it goes on, and makes one claim for the group", () =>
  afterEachCrash(
    start,
    {
      async before(cluster) {
        await template(cluster);
        await cluster.create(PodGroup, groupOf("g"));
        for (const name of ["p", "q"]) await cluster.create(Pod, memberOf("g", name));
      },
      async done(cluster) {
        const { items } = await cluster.client.resource(Pod).list({ namespace: "d" });
        return items.every(
          ({ status }) => status?.resourceClaimStatuses?.[0]?.resourceClaimName !== undefined,
        );
      },
      async after(cluster) {
        const [claim, ...more] = await cluster.list(ResourceClaim);
        assert.equal(more.length, 0);
        for (const [kind, name] of [
          [PodGroup, "g"],
          [Pod, "p"],
          [Pod, "q"],
        ] as const)
          assert.deepEqual(await recorded(cluster, kind, name), { gpu: claim?.metadata.name });
      },
    },
    withGroups,
  ));
