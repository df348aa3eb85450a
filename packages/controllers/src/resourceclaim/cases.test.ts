/**
 * Cases of the claim controller that need objects which the API server would not let come about by
 * themselves.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { featuresOf, type KubernetesVersion } from "@dray/api";
import { Namespace, Pod } from "@dray/api/core/v1";
import { ResourceClaim, ResourceClaimTemplate } from "@dray/api/resource/v1";
import { PodGroup } from "@dray/api/scheduling/v1beta1";
import { servedResources, startResourceClaimController } from "@dray/controllers";
import { type TestCluster, type TestOptions, withCluster } from "../testing/cluster.ts";

const exactly = { deviceClassName: "gpu" };
const devices = { requests: [{ name: "gpu", exactly }] };
const allocation = {
  devices: { results: [{ request: "gpu", driver: "gpu.example.com", pool: "n", device: "gpu-0" }] },
};
const finalizer = "resource.kubernetes.io/delete-protection";
const entry = { name: "gpu", resourceClaimTemplateName: "template" };
const withGroups: TestOptions = {
  featureGates: { GenericWorkload: true, DRAWorkloadResourceClaims: true },
  runtimeConfig: { "scheduling.k8s.io/v1beta1": true },
};

/** Makes the objects, then starts the controller, with other feature gates than the server has. */
function onCluster(
  prepare: (cluster: TestCluster) => Promise<void>,
  check: (cluster: TestCluster) => Promise<void>,
  {
    gates = {},
    release,
    ...options
  }: TestOptions & {
    readonly gates?: Readonly<Record<string, boolean>>;
    readonly release?: KubernetesVersion;
  } = {},
): Promise<void> {
  const all = new Map(Object.entries({ ...options.featureGates, ...gates }));
  const run = async (cluster: TestCluster): Promise<void> => {
    await prepare(cluster);
    const context = { ...cluster.context, features: featuresOf(release, all) };
    await startResourceClaimController(context, await servedResources(context));
    await check(cluster);
  };
  return withCluster(async () => {}, run, options);
}

async function pod(cluster: TestCluster, name: string, more: object = {}, claims = [entry]): Promise<Pod> {
  const containers = [{ name: "c", image: "i" }];
  return cluster.create(Pod, { metadata: { name }, spec: { containers, resourceClaims: claims, ...more } });
}

async function template(cluster: TestCluster, requests: readonly object[] = devices.requests): Promise<void> {
  const spec = { spec: { devices: { requests } } };
  await cluster.create(ResourceClaimTemplate, { metadata: { name: "template" }, spec });
}

async function record(cluster: TestCluster, object: Pod, resourceClaimName: string): Promise<void> {
  await cluster.setStatus(object, { resourceClaimStatuses: [{ name: "gpu", resourceClaimName }] });
}

async function allocate(
  cluster: TestCluster,
  name: string,
  reservedFor: readonly object[],
  finalizers: readonly string[] = [finalizer],
): Promise<void> {
  const claims = cluster.client.resource(ResourceClaim);
  const ref = { namespace: "d", name };
  await claims.patch(ref, "merge", { metadata: { finalizers } });
  await claims.patch(ref, "merge", { status: { allocation, reservedFor } }, { subresource: "status" });
}

const reported = (cluster: TestCluster, event: string): Promise<unknown> =>
  cluster.until(event, async () => (await cluster.events()).includes(event));
const failed = (why: string): string => `Warning FailedResourceClaimCreation PodResourceClaim gpu: ${why}`;

/** Gates that newer releases have locked. */
const refusals: readonly [gate: string, request: object, why: string][] = [
  [
    "DRAPrioritizedList",
    { name: "gpu", firstAvailable: [{ name: "sub", deviceClassName: "gpu" }] },
    "template includes a prioritized list of subrequests, but the feature is disabled",
  ],
  [
    "DRAAdminAccess",
    { name: "gpu", exactly: { ...exactly, adminAccess: true } },
    "admin access is requested, but the feature is disabled",
  ],
];

for (const [gate, request, why] of refusals)
  test(`without ${gate} no claim is made from a template that was stored with it`, () =>
    onCluster(
      async (cluster) => {
        const labels = { "resource.kubernetes.io/admin-access": "true" };
        await cluster.client.resource(Namespace).patch({ name: "d" }, "merge", { metadata: { labels } });
        await template(cluster, [request]);
        await pod(cluster, "p");
      },
      async (cluster) => {
        await reported(cluster, failed(why));
        assert.deepEqual(await cluster.list(ResourceClaim), []);
      },
      { gates: { [gate]: false }, release: "1.34" },
    ));

test("a recorded claim of another owner is left alone, and a new one is created", () =>
  onCluster(
    async (cluster) => {
      await template(cluster);
      await cluster.create(ResourceClaim, { metadata: { name: "theirs" }, spec: { devices } });
      await record(cluster, await pod(cluster, "p"), "theirs");
    },
    async (cluster) => {
      const own = await cluster.until("a claim of its own", async () => {
        const [status] = (await cluster.get(Pod, "p")).status?.resourceClaimStatuses ?? [];
        return status?.resourceClaimName !== "theirs" && status?.resourceClaimName;
      });
      const names = (await cluster.list(ResourceClaim)).map(({ metadata }) => metadata.name);
      assert.deepEqual(names.sort(), [own, "theirs"].sort());
    },
  ));

test("a recorded claim of another owner, without the template: an event, and the record stays", () =>
  onCluster(
    async (cluster) => {
      await cluster.create(ResourceClaim, { metadata: { name: "theirs" }, spec: { devices } });
      await record(cluster, await pod(cluster, "p"), "theirs");
    },
    async (cluster) => {
      const why =
        'resource claim template "template": resourceclaimtemplate.resource.k8s.io "template" not found';
      await reported(cluster, failed(why));
      const { status } = await cluster.get(Pod, "p");
      assert.deepEqual(status?.resourceClaimStatuses, [{ name: "gpu", resourceClaimName: "theirs" }]);
    },
  ));

test("a pod that was bound without the scheduler is added to its generated claim, not to that of another owner", () =>
  onCluster(
    async (cluster) => {
      const bound = await pod(cluster, "p", { nodeName: "n" });
      const { uid } = bound.metadata;
      const owner = { apiVersion: "v1", kind: "Pod", name: "p", uid, controller: true };
      const annotations = { "resource.kubernetes.io/pod-claim-name": "gpu" };
      await cluster.create(ResourceClaim, {
        metadata: { name: "own", annotations, ownerReferences: [owner] },
        spec: { devices },
      });
      await cluster.create(ResourceClaim, { metadata: { name: "theirs" }, spec: { devices } });
      for (const name of ["own", "theirs"]) await allocate(cluster, name, []);
      await record(cluster, bound, "theirs");
    },
    async (cluster) => {
      await cluster.until("reserved", async () => {
        const { status } = await cluster.get(ResourceClaim, "own");
        return status?.reservedFor?.length === 1;
      });
      await cluster.settle();
      assert.equal((await cluster.get(ResourceClaim, "theirs")).status?.reservedFor, undefined);
    },
  ));

test("a claim without the finalizer was not allocated by a scheduler that is known: it keeps its allocation", () =>
  onCluster(
    async (cluster) => {
      await cluster.create(ResourceClaim, { metadata: { name: "c" }, spec: { devices } });
      const uid = "00000000-0000-4000-8000-000000000000";
      await allocate(cluster, "c", [{ resource: "pods", name: "gone", uid }], []);
    },
    async (cluster) => {
      await cluster.until("released", async () => {
        const { status } = await cluster.get(ResourceClaim, "c");
        return status?.reservedFor === undefined;
      });
      await cluster.settle();
      assert.deepEqual((await cluster.get(ResourceClaim, "c")).status?.allocation, allocation);
    },
  ));

const groupOf = (resourceClaims: readonly object[]): object => ({
  metadata: { name: "g" },
  spec: { schedulingPolicy: { basic: {} }, resourceClaims },
});
const inGroup = { schedulingGroup: { podGroupName: "g" } };

test("without the gate a pod with a claim of its group gets no claim, and an event says why", () =>
  onCluster(
    async (cluster) => {
      await template(cluster);
      await cluster.create(PodGroup, groupOf([entry]));
      await pod(cluster, "p", inGroup);
    },
    async (cluster) => {
      const why = "claim gpu is a PodGroup claim but the DRAWorkloadResourceClaims feature is disabled";
      await reported(cluster, failed(why));
      assert.deepEqual(await cluster.list(ResourceClaim), []);
    },
    { gates: { DRAWorkloadResourceClaims: false }, ...withGroups },
  ));

test("without the gate reservations of groups are neither made nor dropped", () =>
  onCluster(
    async (cluster) => {
      const named = { name: "gpu", resourceClaimName: "free" };
      for (const name of ["free", "held"])
        await cluster.create(ResourceClaim, { metadata: { name }, spec: { devices } });
      await cluster.create(PodGroup, groupOf([named]));
      await pod(cluster, "p", { ...inGroup, nodeName: "n" }, [named as never]);
      const uid = "00000000-0000-4000-8000-000000000000";
      const gone = { apiGroup: "scheduling.k8s.io", resource: "podgroups", name: "gone", uid };
      await allocate(cluster, "free", []);
      await allocate(cluster, "held", [gone]);
    },
    async (cluster) => {
      await cluster.settle();
      await cluster.settle();
      assert.equal((await cluster.get(ResourceClaim, "free")).status?.reservedFor, undefined);
      const held = await cluster.get(ResourceClaim, "held");
      assert.deepEqual([held.status?.reservedFor?.length, held.status?.allocation], [1, allocation]);
    },
    { gates: { DRAWorkloadResourceClaims: false }, ...withGroups },
  ));
