import assert from "node:assert/strict";
import { test } from "node:test";
import { Namespace } from "@dray/api/core/v1";
import { DeviceTaintRule, ResourceClaim, ResourceSlice } from "@dray/api/resource/v1";
import {
  type PoolStatus,
  ResourcePoolStatusRequest,
  type ResourcePoolStatusRequestStatus,
} from "@dray/api/resource/v1alpha3";
import {
  type Controller,
  type ControllerContext,
  createInformers,
  servedResources,
  startResourcePoolStatusController,
} from "@dray/controllers";
import { type TestCluster, type TestOptions, withCluster } from "../testing/cluster.ts";
import { afterEachCrash } from "../testing/crashes.ts";

const driver = "gpu.example.com";
const options: TestOptions = {
  featureGates: { DRAResourcePoolStatus: true, DRAPartitionableDevicesType: true },
  runtimeConfig: { "resource.k8s.io/v1alpha3": true },
};

const start = async (context: ControllerContext): Promise<Controller> =>
  startResourcePoolStatusController(context, await servedResources(context));
const onCluster = (run: (cluster: TestCluster) => Promise<void>, more: TestOptions = {}): Promise<void> =>
  withCluster(start, run, { ...options, ...more });

interface SliceOptions {
  readonly pool?: string;
  readonly generation?: number;
  readonly count?: number;
  readonly more?: object;
}

async function slice(
  cluster: TestCluster,
  name: string,
  devices: readonly object[] | undefined,
  { pool = "n", generation = 1, count = 1, more = {} }: SliceOptions = {},
): Promise<void> {
  const where = { driver, pool: { name: pool, generation, resourceSliceCount: count }, nodeName: "n" };
  await cluster.create(ResourceSlice, {
    metadata: { name },
    spec: { ...where, ...(devices === undefined ? {} : { devices }), ...more },
  });
}

async function claim(cluster: TestCluster, name: string, ...results: object[]): Promise<void> {
  const requests = [{ name: "r", exactly: { deviceClassName: "c" } }];
  await cluster.create(ResourceClaim, { metadata: { name }, spec: { devices: { requests } } });
  const named = results.map((result) => ({ request: "r", driver, pool: "n", ...result }));
  await cluster.client
    .resource(ResourceClaim)
    .patch(
      { namespace: "d", name },
      "merge",
      { status: { allocation: { devices: { results: named } } } },
      { subresource: "status" },
    );
}

async function answered(
  cluster: TestCluster,
  spec: object = {},
  name = "r",
): Promise<ResourcePoolStatusRequestStatus> {
  await cluster.create(ResourcePoolStatusRequest, { metadata: { name }, spec: { driver, ...spec } });
  return answerOf(cluster, name);
}

function answerOf(cluster: TestCluster, name = "r"): Promise<ResourcePoolStatusRequestStatus> {
  return cluster.until("an answer", async () => (await cluster.get(ResourcePoolStatusRequest, name)).status);
}

/** total/allocated/available/unavailable */
function counts(pool: PoolStatus | undefined): string {
  const { totalDevices, allocatedDevices, availableDevices, unavailableDevices } = pool ?? {};
  return [totalDevices, allocatedDevices, availableDevices, unavailableDevices].join("/");
}

test("the pools of a driver are counted: newest generation, taints and rules, no admin access", () =>
  onCluster(async (cluster) => {
    const taints = [{ key: "k", effect: "NoSchedule" }];
    const only = [{ key: "k", effect: "None" }];
    const devices = [
      { name: "a" },
      { name: "b" },
      { name: "c", taints },
      { name: "d", taints: only },
      { name: "e" },
    ];
    await slice(cluster, "old", [{ name: "z" }], { generation: 1 });
    await slice(cluster, "new", devices, { generation: 2 });
    await slice(cluster, "other", [{ name: "a" }], { pool: "m" });
    await cluster.create(DeviceTaintRule, {
      metadata: { name: "rule" },
      spec: { deviceSelector: { driver, pool: "n", device: "e" }, taint: { key: "k", effect: "NoExecute" } },
    });
    await claim(cluster, "normal", { device: "a" });
    await claim(cluster, "shared", { device: "a" });
    const label = { "resource.kubernetes.io/admin-access": "true" };
    await cluster.client.resource(Namespace).patch({ name: "d" }, "merge", { metadata: { labels: label } });
    await claim(cluster, "admin", { device: "b", adminAccess: true });
    const status = await answered(cluster);
    assert.equal(status.poolCount, 2);
    assert.deepEqual(
      status.pools?.map(({ poolName }) => poolName),
      ["m", "n"],
    );
    const [, pool] = status.pools ?? [];
    assert.deepEqual([pool?.generation, pool?.nodeName, pool?.resourceSliceCount], [2, "n", 1]);
    assert.equal(counts(pool), "5/1/2/2");
    const [condition] = status.conditions ?? [];
    assert.deepEqual(
      [condition?.type, condition?.status, condition?.reason, condition?.message],
      ["Complete", "True", "CalculationComplete", "Calculated status for 2 pools"],
    );
    assert.match(
      cluster.context.metrics.text(),
      /^resourcepoolstatusrequest_controller_requests_processed_total\{driver_name="gpu.example.com"\} 1$/m,
    );
  }));

test("a request may name a pool and a limit; its status is set once", () =>
  onCluster(async (cluster) => {
    for (const pool of ["b", "a", "c"]) await slice(cluster, pool, [{ name: "x" }], { pool });
    const limited = await answered(cluster, { limit: 2 }, "limited");
    assert.deepEqual([limited.poolCount, limited.pools?.map(({ poolName }) => poolName)], [3, ["a", "b"]]);
    const named = await answered(cluster, { poolName: "c" }, "named");
    assert.deepEqual(
      named.pools?.map(({ poolName }) => poolName),
      ["c"],
    );
    const none = await answered(cluster, { poolName: "missing" }, "none");
    assert.deepEqual([none.poolCount, none.pools], [0, undefined]);
    const { metadata } = await cluster.get(ResourcePoolStatusRequest, "named");
    await slice(cluster, "more", [{ name: "y" }], { pool: "c", generation: 2 });
    await cluster.settle();
    const later = await cluster.get(ResourcePoolStatusRequest, "named");
    assert.equal(later.metadata.resourceVersion, metadata.resourceVersion);
  }));

test("a request waits for the slices of a pool", () =>
  onCluster(async (cluster) => {
    await slice(cluster, "one", [{ name: "a" }], { count: 2 });
    await cluster.create(ResourcePoolStatusRequest, { metadata: { name: "r" }, spec: { driver } });
    await cluster.settle();
    assert.equal((await cluster.get(ResourcePoolStatusRequest, "r")).status, undefined);
    await slice(cluster, "two", [{ name: "b" }], { count: 2 });
    const [pool] = (await answerOf(cluster)).pools ?? [];
    assert.deepEqual([pool?.resourceSliceCount, counts(pool)], [2, "2/0/2/0"]);
  }));

/** Looks at discovery once, so that a day can pass without 2,880 more looks. */
async function startWithoutResync(context: ControllerContext): Promise<Controller> {
  const stop = new AbortController();
  const informers = createInformers(context.client);
  const served = await servedResources({ ...context, informers, signal: stop.signal });
  stop.abort();
  return startResourcePoolStatusController(context, served);
}

test("requests are deleted an hour after their status is set, a day after their creation without one", () =>
  withCluster(
    startWithoutResync,
    async (cluster) => {
      await slice(cluster, "one", [{ name: "a" }], { pool: "incomplete", count: 2 });
      await answered(cluster, { poolName: "none" }, "answered");
      await cluster.create(ResourcePoolStatusRequest, { metadata: { name: "pending" }, spec: { driver } });
      const isThere = async (name: string): Promise<boolean> =>
        (await cluster.find(ResourcePoolStatusRequest, name)) !== undefined;
      const pass = async (minutes: number): Promise<void> => {
        cluster.clock.advance(minutes * 60_000);
        await cluster.settle();
      };
      await cluster.settle();
      await pass(59);
      assert.equal(await isThere("answered"), true);
      await pass(2);
      await cluster.until("gone after an hour", async () => !(await isThere("answered")));
      await pass(22 * 60 + 50);
      assert.equal(await isThere("pending"), true);
      await pass(10);
      await cluster.until("gone after a day", async () => !(await isThere("pending")));
    },
    options,
  ));

const attribute = "gpu.example.com/profile";

/** A GPU of 40Gi as a whole or in two halves. */
function partition(name: string, profile: string | undefined, memory: string): object {
  const consumesCounters = [{ counterSet: "gpu", counters: { memory: { value: memory } } }];
  return {
    name,
    consumesCounters,
    ...(profile === undefined ? {} : { attributes: { profile: { string: profile } } }),
  };
}

async function partitionable(
  cluster: TestCluster,
  devices: readonly object[],
  partitionTypeAttribute?: string,
): Promise<void> {
  const sharedCounters = [{ name: "gpu", counters: { memory: { value: "40Gi" } } }];
  await slice(cluster, "counters", undefined, { count: 2, more: { sharedCounters } });
  const more = partitionTypeAttribute === undefined ? {} : { partitionTypeAttribute };
  await slice(cluster, "devices", devices, { count: 2, more });
}

test("partitions are summarised by type, with what still fits", () =>
  onCluster(async (cluster) => {
    const halves = [partition("half-0", "half", "20Gi"), partition("half-1", "half", "20480Mi")];
    await partitionable(
      cluster,
      [partition("full", "full", "40Gi"), ...halves, { name: "plain" }],
      attribute,
    );
    await claim(cluster, "c", { device: "half-0" });
    const [pool] = (await answered(cluster)).pools ?? [];
    assert.deepEqual(pool?.partitionSummary, [
      { attribute, type: "full", total: 1, allocatable: 0 },
      { attribute, type: "half", total: 2, allocatable: 1 },
    ]);
    assert.equal(pool?.validationError, undefined);
  }));

test("a request names the attribute where no slice does, and inconsistent partitions are reported", () =>
  onCluster(async (cluster) => {
    const devices = [partition("a", "half", "20Gi"), partition("b", "half", "10Gi")];
    await partitionable(cluster, devices);
    const [plain] = (await answered(cluster, {}, "plain")).pools ?? [];
    assert.deepEqual([plain?.partitionSummary, plain?.validationError], [undefined, undefined]);
    const asked = await answered(cluster, { defaultPartitionTypeAttribute: attribute }, "asked");
    const [pool] = asked.pools ?? [];
    assert.equal(
      pool?.validationError,
      'PartitionCostMismatch: devices of partition type "half" in pool gpu.example.com/n consume different counters',
    );
    assert.deepEqual([pool?.partitionSummary, counts(pool)], [undefined, "2/0/2/0"]);
    assert.equal(asked.conditions?.[0]?.message, "Calculated status for 1 pools (1 incomplete)");
    const missing = await answered(
      cluster,
      { defaultPartitionTypeAttribute: "gpu.example.com/x" },
      "missing",
    );
    assert.equal(
      missing.pools?.[0]?.validationError,
      'PartitionTypeMissing: device "a" in pool gpu.example.com/n does not carry partition type attribute "gpu.example.com/x"',
    );
  }));

test("shareable devices are summarised by capacity", () =>
  onCluster(async (cluster) => {
    const shareable = { allowMultipleAllocations: true, capacity: { memory: { value: "80Gi" } } };
    await slice(cluster, "s", [{ name: "a", ...shareable }, { name: "b", ...shareable }, { name: "c" }]);
    const shareID = "0f0e7d3c-1f4b-4c5d-8e6f-000000000001";
    await claim(cluster, "c", { device: "a", shareID, consumedCapacity: { memory: "10Gi" } });
    const [pool] = (await answered(cluster)).pools ?? [];
    assert.deepEqual(pool?.shareableSummary, {
      fullyAvailableDevices: 1,
      partiallyAvailableDevices: 1,
      capacity: [{ name: "memory", total: "160Gi", consumed: "10Gi", available: "150Gi" }],
    });
  }));

test("1.36 has no summaries, and without the gate no status is set", async () => {
  const shareable = { allowMultipleAllocations: true, capacity: { memory: { value: "80Gi" } } };
  await onCluster(
    async (cluster) => {
      await slice(cluster, "s", [{ name: "a", ...shareable }]);
      const [pool] = (await answered(cluster)).pools ?? [];
      assert.deepEqual([counts(pool), pool?.shareableSummary], ["1/0/1/0", undefined]);
    },
    { kubernetesVersion: "1.36", featureGates: { DRAResourcePoolStatus: true } },
  );
  await onCluster(
    async (cluster) => {
      await cluster.create(ResourcePoolStatusRequest, { metadata: { name: "r" }, spec: { driver } });
      await cluster.settle();
      assert.equal((await cluster.get(ResourcePoolStatusRequest, "r")).status, undefined);
    },
    { featureGates: {} },
  );
});

test("a pool that the API rejects fails the request, with the reason", () =>
  onCluster(async (cluster) => {
    await slice(cluster, "s", [{ name: "a" }], { generation: 0 });
    const { conditions, poolCount } = await answered(cluster);
    assert.deepEqual(
      [conditions?.[0]?.type, conditions?.[0]?.reason, poolCount],
      ["Failed", "CalculationFailed", 0],
    );
    assert.match(conditions?.[0]?.message ?? "", /status\.pools\[0\]\.generation: Required value/);
  }));

test("killed before its write it goes on", () =>
  afterEachCrash(
    start,
    {
      async before(cluster) {
        await slice(cluster, "s", [{ name: "a" }]);
        await cluster.create(ResourcePoolStatusRequest, { metadata: { name: "r" }, spec: { driver } });
      },
      done: async (cluster) => (await cluster.get(ResourcePoolStatusRequest, "r")).status !== undefined,
    },
    options,
  ));
