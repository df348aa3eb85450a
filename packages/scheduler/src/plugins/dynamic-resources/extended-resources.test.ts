/** Extended resources that devices serve (KEP-5004). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { featuresOf } from "@dray/api";
import { Pod } from "@dray/api/core/v1";
import { DeviceClass, ResourceClaim } from "@dray/api/resource/v1";
import { partial } from "@dray/testing/partial";
import type { Scheduler } from "../../component/scheduler.ts";
import { createOfflineScheduler } from "../../offline/offline.ts";
import { devicesOf, type TestCluster, withCluster } from "../../testing/cluster.ts";
import { extendedRequests, preferredClass } from "./extended-resources.ts";

const resource = "example.com/gpu";
const asks = (count: number, name = resource): object => ({ limits: { [name]: `${count}` } });
const container = (name: string, resources?: object, more: object = {}): object => ({
  name,
  image: "i",
  ...(resources && { resources }),
  ...more,
});

const classOf = (name: string, extendedResourceName = resource): object => ({
  metadata: { name },
  spec: { extendedResourceName, selectors: [{ cel: { expression: "true" } }] },
});

/** Nodes n1, n2, ... with `devices` on each, a class that serves the resource, and a scheduler. */
async function withDevices(
  devices: readonly number[],
  run: (cluster: TestCluster, scheduler: Scheduler) => Promise<void>,
) {
  await withCluster(async (cluster) => {
    await cluster.create(DeviceClass, classOf("gpu"));
    for (const [i, count] of devices.entries()) {
      await cluster.node(`n${i + 1}`);
      if (count > 0) await cluster.slice(`n${i + 1}`, count);
    }
    const { scheduler } = await cluster.scheduler();
    await run(cluster, scheduler);
  });
}

test("a pod that asks for a resource gets a claim of its own, with the devices of the class", () =>
  withDevices([0, 2], async (cluster, scheduler) => {
    const containers = [container("a", asks(1)), container("b", { limits: { cpu: "1", [resource]: "1" } })];
    const pod = await cluster.pod("p", { containers });
    assert.equal(await cluster.bound("p"), "n2");
    const [claim, ...others] = await cluster.list(ResourceClaim);
    assert.deepEqual(others, []);
    assert.match(claim!.metadata.name, /^p-extended-resources-/);
    assert.deepEqual(claim!.metadata.annotations, {
      "resource.kubernetes.io/extended-resource-claim": "true",
    });
    assert.deepEqual(claim!.metadata.finalizers, ["resource.kubernetes.io/delete-protection"]);
    assert.deepEqual(
      claim!.metadata.ownerReferences?.map(({ kind, uid, controller }) => ({ kind, uid, controller })),
      [{ kind: "Pod", uid: pod.metadata.uid, controller: true }],
    );
    assert.deepEqual(
      claim!.spec.devices?.requests?.map(({ name, exactly }) => [
        name,
        exactly?.deviceClassName,
        exactly?.count,
      ]),
      [
        ["container-0-request-0", "gpu", 1],
        ["container-1-request-1", "gpu", 1],
      ],
    );
    assert.deepEqual(claim!.status?.reservedFor, [{ resource: "pods", name: "p", uid: pod.metadata.uid }]);
    assert.equal(new Set(devicesOf(claim!)).size, 2);
    assert.deepEqual((await cluster.get(Pod, "p")).status?.extendedResourceClaimStatus, {
      resourceClaimName: claim!.metadata.name,
      requestMappings: [
        { containerName: "a", resourceName: resource, requestName: "container-0-request-0" },
        { containerName: "b", resourceName: resource, requestName: "container-1-request-1" },
      ],
    });
    const labels = 'status="success",admin_access="false",owner_api_group="",owner_api_kind="Pod"';
    const created = `dynamic_resource_allocation_resourceclaim_creates_total{${labels}} 1`;
    assert.ok(scheduler.metrics().split("\n").includes(created));
  }));

test("devices are given once, and a pod waits until they are free", () =>
  withDevices([1], async (cluster) => {
    await cluster.pod("a", { containers: [container("c", asks(1))] });
    assert.equal(await cluster.bound("a"), "n1");
    await cluster.pod("b", { containers: [container("c", asks(1))] });
    assert.match(await cluster.refused("b"), /cannot allocate all claims\. preemption: /);
    const [claim] = await cluster.list(ResourceClaim);
    await cluster.remove("a", claim!.metadata.name);
    assert.equal(await cluster.bound("b"), "n1");
  }));

test("a pod waits for the class, whose own name is a resource too", () =>
  withCluster(async (cluster) => {
    await cluster.node("n1");
    await cluster.slice("n1", 1);
    await cluster.scheduler();
    const name = "deviceclass.resource.kubernetes.io/late";
    await cluster.pod("p", { containers: [container("c", asks(1, name))] });
    assert.match(await cluster.refused("p"), /1 Insufficient deviceclass\.resource\.kubernetes\.io\/late/);
    await cluster.gpuClass("late");
    assert.equal(await cluster.bound("p"), "n1");
  }));

test("a resource of a device plugin is counted on its node, without a claim", () =>
  withDevices([0], async (cluster) => {
    await cluster.node("plugin", { allocatable: { [resource]: "1" } });
    await cluster.pod("p", { containers: [container("c", asks(1))] });
    assert.equal(await cluster.bound("p"), "plugin");
    assert.deepEqual(await cluster.list(ResourceClaim), []);
  }));

test("a claim that an earlier attempt has left is deleted, and another one is made", () =>
  withCluster(async (cluster) => {
    await cluster.create(DeviceClass, classOf("gpu"));
    await cluster.node("n1");
    await cluster.slice("n1", 1);
    const pod = await cluster.pod("p", { containers: [container("c", asks(1))] });
    const owner = { apiVersion: "v1", kind: "Pod", name: "p", uid: pod.metadata.uid, controller: true };
    await cluster.create(ResourceClaim, {
      metadata: {
        name: "left",
        annotations: { "resource.kubernetes.io/extended-resource-claim": "true" },
        finalizers: ["resource.kubernetes.io/delete-protection"],
        ownerReferences: [owner],
      },
      spec: {
        devices: { requests: [{ name: "container-0-request-0", exactly: { deviceClassName: "gpu" } }] },
      },
    });
    await cluster.scheduler();
    assert.equal(await cluster.bound("p"), "n1");
    const names = (await cluster.list(ResourceClaim)).map(({ metadata }) => metadata.name);
    assert.equal(names.length, 1);
    assert.match(names[0]!, /^p-extended-resources-/);
  }));

test("init containers that end use the devices of later containers, and share what is missing then", () => {
  const requests = (name: string, count: number, more: object = {}) =>
    container(name, { requests: { [resource]: `${count}` } }, more);
  const pod = partial<Pod>({
    spec: {
      initContainers: [
        requests("init-2", 2),
        requests("sidecar", 1, { restartPolicy: "Always" }),
        requests("init-4", 4),
      ],
      containers: [requests("main", 1), container("none")],
    },
  });
  const served = new Map([[resource, classOf("gpu") as DeviceClass]]);
  const { requests: made, mappings } = extendedRequests(pod, served);
  assert.deepEqual(
    made.map(({ name, exactly }) => [name, exactly?.count]),
    [
      ["container-1-request-0", 1],
      ["container-2-request-0", 3],
      ["container-3-request-0", 1],
    ],
  );
  assert.deepEqual(
    mappings.map(({ containerName, requestName }) => [containerName, requestName]),
    [
      ["sidecar", "container-1-request-0"],
      ["main", "container-3-request-0"],
      ["init-2", "container-1-request-0"],
      ["init-2", "container-3-request-0"],
      ["init-4", "container-3-request-0"],
      ["init-4", "container-2-request-0"],
    ],
  );
});

test("of several classes the newest serves a resource, then the first by name", () => {
  const made = (name: string, creationTimestamp: string) =>
    partial<DeviceClass>({ metadata: { name, creationTimestamp }, spec: {} });
  const [old, b, a] = [
    made("0", "2026-01-01T00:00:00Z"),
    made("b", "2026-01-02T00:00:00Z"),
    made("a", "2026-01-02T00:00:00Z"),
  ];
  assert.equal(preferredClass([old, b, a])?.metadata.name, "a");
  assert.equal(preferredClass([]), undefined);
});

test("a plan gives the same devices once, and nothing where the feature is off", async () => {
  const plan = async (version: "1.35" | "1.37") => {
    const scheduler = createOfflineScheduler({
      features: featuresOf(version),
      newId: counter(),
      now: () => 0,
    });
    const add = (object: object): void => scheduler.add(object as never);
    add({
      kind: "Node",
      metadata: { name: "n1" },
      spec: {},
      status: { allocatable: { cpu: "4", pods: "9" } },
    });
    add({ kind: "DeviceClass", ...classOf("gpu") });
    add({
      kind: "ResourceSlice",
      metadata: { name: "s" },
      spec: {
        driver: "gpu.example.com",
        nodeName: "n1",
        pool: { name: "p", generation: 1, resourceSliceCount: 1 },
        devices: [{ name: "gpu-0" }],
      },
    });
    const results: string[] = [];
    for (const name of ["a", "b"]) {
      const metadata = { namespace: "d", name, uid: name };
      const spec = { containers: [container("c", { requests: { [resource]: "1" } })] };
      const placement = await scheduler.schedule(partial<Pod>({ kind: "Pod", metadata, spec }));
      results.push(placement.type === "placed" ? placement.node : placement.type);
    }
    return results;
  };
  assert.deepEqual(await plan("1.37"), ["n1", "refused"]);
  assert.deepEqual(await plan("1.35"), ["refused", "refused"]);
});

function counter(): () => string {
  let count = 0;
  return () => `00000000-0000-4000-8000-${String(count++).padStart(12, "0")}`;
}
