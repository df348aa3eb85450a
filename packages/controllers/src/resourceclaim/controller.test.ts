import assert from "node:assert/strict";
import { test } from "node:test";
import { featuresOf } from "@dray/api";
import { Pod } from "@dray/api/core/v1";
import { DeviceClass, ResourceClaim, ResourceClaimTemplate } from "@dray/api/resource/v1";
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

const start = async (context: ControllerContext): Promise<Controller> =>
  startResourceClaimController(context, await servedResources(context));
const onCluster = (run: (cluster: TestCluster) => Promise<void>, options?: TestOptions): Promise<void> =>
  withCluster(start, run, options);

async function podWithTemplate(cluster: TestCluster, name = "p", entries = ["gpu"]): Promise<Pod> {
  const { create } = cluster;
  await create(ResourceClaimTemplate, {
    metadata: { name: "template" },
    spec: { metadata: { labels: { l: "1" }, annotations: { a: "2" } }, spec: { devices } },
  });
  return create(
    Pod,
    podOf(
      name,
      entries.map((entry) => ({ name: entry, resourceClaimTemplateName: "template" })),
    ),
  );
}

function podOf(name: string, resourceClaims: object[], more: object = {}): object {
  return {
    metadata: { name },
    spec: { containers: [{ name: "c", image: "i" }], resourceClaims, ...more },
  };
}

/** Writes the allocation and the reservations, as the scheduler does. */
async function allocate(cluster: TestCluster, name: string, pods: readonly Pod[]): Promise<void> {
  const claims = cluster.client.resource(ResourceClaim);
  const ref = { namespace: "d", name };
  await claims.patch(ref, "merge", { metadata: { finalizers: [finalizer] } });
  const reservedFor = pods.map(({ metadata }) => ({
    resource: "pods",
    name: metadata.name,
    uid: metadata.uid,
  }));
  await claims.patch(ref, "merge", { status: { allocation, reservedFor } }, { subresource: "status" });
}

async function claimNames(cluster: TestCluster, pod: Pod): Promise<Record<string, string>> {
  return cluster.until("claims of the pod are recorded", async () => {
    const { status } = await cluster.get(Pod, pod.metadata.name);
    const statuses = status?.resourceClaimStatuses ?? [];
    if (statuses.length < (pod.spec.resourceClaims?.length ?? 0)) return undefined;
    return Object.fromEntries(statuses.map((entry) => [entry.name, entry.resourceClaimName ?? ""]));
  });
}

test("a claim is made from the template, owned by the pod, and recorded in its status", () =>
  onCluster(async (cluster) => {
    const pod = await podWithTemplate(cluster, "p", ["one", "two"]);
    const names = await claimNames(cluster, pod);
    const claim = await cluster.get(ResourceClaim, names["one"] ?? "");
    assert.match(claim.metadata.name, /^p-one-[a-z0-9]{5}$/);
    assert.match(names["two"] ?? "", /^p-two-[a-z0-9]{5}$/);
    assert.deepEqual(claim.metadata.labels, { l: "1" });
    assert.deepEqual(claim.metadata.annotations, { a: "2", "resource.kubernetes.io/pod-claim-name": "one" });
    assert.deepEqual(claim.metadata.ownerReferences, [
      {
        apiVersion: "v1",
        kind: "Pod",
        name: "p",
        uid: pod.metadata.uid,
        controller: true,
      },
    ]);
    assert.equal(claim.spec.devices?.requests?.[0]?.exactly?.deviceClassName, "gpu");
    const { metadata } = await cluster.get(Pod, "p");
    const entry = metadata.managedFields?.find(({ manager }) => manager === "ResourceClaimController");
    assert.deepEqual([entry?.operation, entry?.subresource], ["Apply", "status"]);
    await cluster.settle();
    assert.equal((await cluster.list(ResourceClaim)).length, 2);
  }));

test("long names are cut in proportion, so that the entry's name stays readable", () =>
  onCluster(async (cluster) => {
    const pod = await podWithTemplate(cluster, "p".repeat(60), ["e".repeat(30)]);
    const [name = ""] = Object.values(await claimNames(cluster, pod));
    // 60*57/92 and 30*57/92, rounded down.
    assert.match(name, /^p{37}-e{18}[a-z0-9]{5}$/);
  }));

test("an event reports a missing template; the claim follows once it exists", () =>
  onCluster(async (cluster) => {
    const { create } = cluster;
    const pod = await create(Pod, podOf("p", [{ name: "gpu", resourceClaimTemplateName: "template" }]));
    const [event] = await cluster.until("the event", async () => {
      const events = await cluster.events();
      return events.length > 0 && events;
    });
    assert.match(
      event ?? "",
      /^Warning FailedResourceClaimCreation PodResourceClaim gpu: .*template "template".*not found/,
    );
    cluster.problems.length = 0;
    await create(ResourceClaimTemplate, { metadata: { name: "template" }, spec: { spec: { devices } } });
    await claimNames(cluster, pod);
  }));

test("a recorded claim that vanishes is made again, the other entries stay", () =>
  onCluster(async (cluster) => {
    const pod = await podWithTemplate(cluster, "p", ["one", "two"]);
    const before = await claimNames(cluster, pod);
    await cluster.client.resource(ResourceClaim).delete({ namespace: "d", name: before["one"] ?? "" });
    const after = await cluster.until("another claim", async () => {
      const names = await claimNames(cluster, pod);
      return names["one"] !== before["one"] && names;
    });
    assert.equal(after["two"], before["two"]);
    await cluster.get(ResourceClaim, after["one"] ?? "");
  }));

test("a claim that was made but not recorded is taken, not made twice", () =>
  withCluster(
    async () => {},
    async (cluster) => {
      const pod = await podWithTemplate(cluster);
      const { uid } = pod.metadata;
      await cluster.create(ResourceClaim, {
        metadata: {
          name: "made-before",
          annotations: { "resource.kubernetes.io/pod-claim-name": "gpu" },
          ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "p", uid, controller: true }],
        },
        spec: { devices },
      });
      await start(cluster.context);
      assert.deepEqual(await claimNames(cluster, pod), { gpu: "made-before" });
      assert.equal((await cluster.list(ResourceClaim)).length, 1);
    },
  ));

test("pods that are being deleted or finished get no claims", () =>
  onCluster(async (cluster) => {
    const { create, client } = cluster;
    const entry = [{ name: "gpu", resourceClaimTemplateName: "template" }];
    const done = await create(Pod, podOf("done", entry));
    await cluster.setStatus(done, { phase: "Succeeded" });
    const going = await create(Pod, {
      ...podOf("going", entry),
      metadata: { name: "going", finalizers: ["example.com/wait"] },
    });
    await client.resource(Pod).delete({ namespace: "d", name: going.metadata.name });
    cluster.problems.length = 0;
    await create(ResourceClaimTemplate, { metadata: { name: "template" }, spec: { spec: { devices } } });
    await cluster.settle();
    assert.equal((await cluster.list(ResourceClaim)).length, 0);
  }));

test("of two pods that share a claim the gone one is dropped, and the last one gives the devices back", () =>
  onCluster(async (cluster) => {
    const { create, client } = cluster;
    await create(ResourceClaim, { metadata: { name: "shared" }, spec: { devices } });
    const entry = [{ name: "gpu", resourceClaimName: "shared" }];
    const one = await create(Pod, podOf("one", entry));
    const two = await create(Pod, podOf("two", entry));
    await allocate(cluster, "shared", [one, two]);
    const versions: (string | undefined)[] = [];
    await client.resource(Pod).delete({ namespace: "d", name: "one" }, { gracePeriodSeconds: 0 });
    const half = await cluster.until("one reservation left", async () => {
      const claim = await cluster.get(ResourceClaim, "shared");
      return claim.status?.reservedFor?.length === 1 && claim;
    });
    assert.equal(half.status?.reservedFor?.[0]?.uid, two.metadata.uid);
    assert.deepEqual(half.status?.allocation, allocation);
    assert.deepEqual(half.metadata.finalizers, [finalizer]);

    const stop = new AbortController();
    const watch = client
      .resource(ResourceClaim)
      .watch({ resourceVersion: half.metadata.resourceVersion }, stop);
    await cluster.setStatus(two, { phase: "Failed" });
    for await (const { object } of watch) {
      const { allocation: left, reservedFor = [] } = object.status ?? {};
      versions.push(
        `${left === undefined ? "free" : "allocated"} ${reservedFor.length} ${object.metadata.finalizers?.length ?? 0}`,
      );
      if ((object.metadata.finalizers ?? []).length === 0) stop.abort();
    }
    assert.deepEqual(
      versions,
      ["free 0 1", "free 0 0"],
      "allocation and reservation go in one write, then the finalizer",
    );
  }));

test("a claim that was never reserved keeps its allocation, until it is deleted", () =>
  onCluster(async (cluster) => {
    await cluster.create(ResourceClaim, { metadata: { name: "c" }, spec: { devices } });
    await allocate(cluster, "c", []);
    await cluster.settle();
    assert.deepEqual((await cluster.get(ResourceClaim, "c")).status?.allocation, allocation);
    await cluster.client.resource(ResourceClaim).delete({ namespace: "d", name: "c" });
    await cluster.until(
      "the claim is gone",
      async () => (await cluster.find(ResourceClaim, "c")) === undefined,
    );
  }));

test("a deleted claim in use keeps its allocation and its reservation", () =>
  onCluster(async (cluster) => {
    await cluster.create(ResourceClaim, { metadata: { name: "c" }, spec: { devices } });
    const pod = await cluster.create(
      Pod,
      podOf("p", [{ name: "gpu", resourceClaimName: "c" }], { nodeName: "n" }),
    );
    await allocate(cluster, "c", [pod]);
    await cluster.client.resource(ResourceClaim).delete({ namespace: "d", name: "c" });
    // Deleted, too, but bound: its containers may run until the kubelet says otherwise.
    await cluster.client.resource(Pod).delete({ namespace: "d", name: "p" });
    await cluster.settle();
    const claim = await cluster.get(ResourceClaim, "c");
    assert.deepEqual(claim.status?.allocation, allocation);
    assert.equal(claim.status?.reservedFor?.length, 1);
    await cluster.client.resource(Pod).delete({ namespace: "d", name: "p" }, { gracePeriodSeconds: 0 });
    await cluster.until(
      "the claim is gone",
      async () => (await cluster.find(ResourceClaim, "c")) === undefined,
    );
  }));

test("a reservation for a pod of the same name and another uid is stale, one of an unknown kind is not ours", () =>
  onCluster(async (cluster) => {
    await cluster.create(ResourceClaim, { metadata: { name: "c" }, spec: { devices } });
    const pod = await cluster.create(Pod, podOf("p", [{ name: "gpu", resourceClaimName: "c" }]));
    const former = { ...pod, metadata: { ...pod.metadata, uid: "00000000-0000-4000-8000-000000000000" } };
    await allocate(cluster, "c", [former]);
    await cluster.until(
      "given back",
      async () => (await cluster.get(ResourceClaim, "c")).status?.allocation === undefined,
    );
    const ref = { namespace: "d", name: "c" };
    const group = { apiGroup: "scheduling.k8s.io", resource: "podgroups", name: "g", uid: "u" };
    await cluster.client
      .resource(ResourceClaim)
      .patch(ref, "merge", { status: { allocation, reservedFor: [group] } }, { subresource: "status" });
    await cluster.settle();
    assert.deepEqual((await cluster.get(ResourceClaim, "c")).status?.reservedFor, [group]);
  }));

test("the generated claim of a finished pod is deleted while the pod stays", () =>
  onCluster(async (cluster) => {
    const pod = await podWithTemplate(cluster);
    const { gpu = "" } = await claimNames(cluster, pod);
    await allocate(cluster, gpu, [pod]);
    await cluster.setStatus(pod, { phase: "Succeeded" });
    await cluster.until(
      "the claim is gone",
      async () => (await cluster.find(ResourceClaim, gpu)) === undefined,
    );
    await cluster.get(Pod, "p");
  }));

test("the garbage collector deletes the generated claim of a deleted pod before its devices are given back", () =>
  onCluster(async (cluster) => {
    const { create, client } = cluster;
    await create(ResourceClaimTemplate, { metadata: { name: "template" }, spec: { spec: { devices } } });
    const entries = [{ name: "gpu", resourceClaimTemplateName: "template" }];
    const deletePod = async (name: string): Promise<string> => {
      const pod = await create(Pod, podOf(name, entries, { nodeName: "n" }));
      const { gpu = "" } = await claimNames(cluster, pod);
      await allocate(cluster, gpu, [pod]);
      await cluster.settle();
      await client.resource(Pod).delete({ namespace: "d", name }, { gracePeriodSeconds: 0 });
      await cluster.settle();
      assert.deepEqual((await cluster.get(ResourceClaim, gpu)).status?.allocation, allocation, "left alone");
      return gpu;
    };
    const collected = await deletePod("p");
    // As the garbage collector does.
    await client.resource(ResourceClaim).delete({ namespace: "d", name: collected });
    await cluster.settle();
    assert.equal(await cluster.find(ResourceClaim, collected), undefined);

    const forgotten = await deletePod("q");
    cluster.clock.advance(500);
    await cluster.until("given back without a garbage collector", async () => {
      const { status, metadata } = await cluster.get(ResourceClaim, forgotten);
      return status?.allocation === undefined && (metadata.finalizers ?? []).length === 0;
    });
  }));

test("a starting controller releases the claim of a pod that is gone", () =>
  withCluster(
    async () => {},
    async (cluster) => {
      await cluster.create(ResourceClaim, { metadata: { name: "c" }, spec: { devices } });
      const gone = { metadata: { name: "gone", uid: "00000000-0000-4000-8000-000000000000" } } as Pod;
      await allocate(cluster, "c", [gone]);
      await start(cluster.context);
      await cluster.until("given back", async () => {
        const { status, metadata } = await cluster.get(ResourceClaim, "c");
        return status?.allocation === undefined && (metadata.finalizers ?? []).length === 0;
      });
    },
  ));

test("a pod that was bound without the scheduler is added to claims that are allocated", () =>
  onCluster(async (cluster) => {
    await cluster.create(DeviceClass, { metadata: { name: "gpu" }, spec: {} });
    await cluster.create(ResourceClaim, { metadata: { name: "c" }, spec: { devices } });
    await allocate(cluster, "c", []);
    const pod = await cluster.create(
      Pod,
      podOf("p", [{ name: "gpu", resourceClaimName: "c" }], { nodeName: "n" }),
    );
    const reservedFor = await cluster.until("reserved", async () => {
      const { status } = await cluster.get(ResourceClaim, "c");
      return (status?.reservedFor?.length ?? 0) > 0 && status?.reservedFor;
    });
    assert.deepEqual(reservedFor, [{ resource: "pods", name: "p", uid: pod.metadata.uid }]);
  }));

test("the claim of extended resources is released regardless of the gate", () =>
  withCluster(
    async () => {},
    async (cluster) => {
      const amount = { "example.com/gpu": "1" };
      const containers = [{ name: "c", image: "i", resources: { requests: amount, limits: amount } }];
      const pod = await cluster.create(Pod, podOf("p", [], { containers }));
      const { uid } = pod.metadata;
      await cluster.create(ResourceClaim, {
        metadata: {
          name: "extended",
          annotations: { "resource.kubernetes.io/extended-resource-claim": "true" },
          ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "p", uid, controller: true }],
        },
        spec: { devices },
      });
      await allocate(cluster, "extended", [pod]);
      const mapping = { containerName: "c", resourceName: "example.com/gpu", requestName: "gpu" };
      const extendedResourceClaimStatus = { resourceClaimName: "extended", requestMappings: [mapping] };
      await cluster.setStatus(pod, { extendedResourceClaimStatus });
      const features = featuresOf("1.35");
      assert.equal(features.enabled("DRAExtendedResource"), false);
      await start({ ...cluster.context, features });
      await cluster.settle();
      await cluster.setStatus(pod, { phase: "Succeeded" });
      await cluster.until(
        "the claim is gone",
        async () => (await cluster.find(ResourceClaim, "extended")) === undefined,
      );
    },
  ));

test("killed before any of its writes it goes on, and makes each claim once", () =>
  afterEachCrash(start, {
    async before(cluster) {
      await podWithTemplate(cluster, "p", ["one", "two"]);
    },
    async done(cluster) {
      const { status } = await cluster.get(Pod, "p");
      return status?.resourceClaimStatuses?.length === 2;
    },
    async after(cluster) {
      const names = Object.values(await claimNames(cluster, await cluster.get(Pod, "p"))).sort();
      const claims = await cluster.list(ResourceClaim);
      assert.deepEqual(claims.map(({ metadata }) => metadata.name).sort(), names);
    },
  }));

test("killed while it gives devices back it goes on, until the claim is gone", () =>
  afterEachCrash(start, {
    async before(cluster) {
      await cluster.create(ResourceClaim, { metadata: { name: "c" }, spec: { devices } });
      const gone = { metadata: { name: "gone", uid: "00000000-0000-4000-8000-000000000000" } } as Pod;
      await allocate(cluster, "c", [gone]);
      await cluster.client.resource(ResourceClaim).delete({ namespace: "d", name: "c" });
    },
    done: async (cluster) => (await cluster.find(ResourceClaim, "c")) === undefined,
  }));
