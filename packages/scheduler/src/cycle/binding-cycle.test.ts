import assert from "node:assert/strict";
import { test } from "node:test";
import { Pod } from "@dray/api/core/v1";
import { ResourceClaim, ResourceSlice } from "@dray/api/resource/v1";
import { type TestCluster, uses, withCluster } from "../testing/cluster.ts";
import type { RunningScheduler } from "../testing/scheduler.ts";

const driver = "gpu.example.com";

/** One node with one device that has to be attached before a pod may use it. */
async function withAttachable(
  run: (cluster: TestCluster, first: RunningScheduler) => Promise<void>,
): Promise<void> {
  await withCluster(async (cluster) => {
    await cluster.gpuClass();
    await cluster.node("n1");
    await cluster.create(ResourceSlice, {
      metadata: { name: "s" },
      spec: {
        driver,
        pool: { name: "p", generation: 1, resourceSliceCount: 1 },
        nodeName: "n1",
        devices: [{ name: "d", bindingConditions: ["attached"], bindingFailureConditions: ["broken"] }],
      },
    });
    const first = await cluster.scheduler();
    await cluster.claim("c");
    await cluster.pod("p", uses("c"));
    await cluster.until(
      "an allocation",
      async () => (await cluster.get(ResourceClaim, "c")).status?.allocation,
    );
    await run(cluster, first);
  });
}

/** Sets a condition of the device, as the driver's controller does. */
async function report({ client, get, clock }: TestCluster, type: string): Promise<void> {
  const claim = await get(ResourceClaim, "c");
  const condition = {
    type,
    status: "True",
    reason: "Told",
    message: "by the test",
    lastTransitionTime: new Date(clock.now()).toISOString().replace(/\.\d+/, ""),
  };
  const devices = [{ driver, pool: "p", device: "d", conditions: [condition] }];
  await client
    .resource(ResourceClaim)
    .update({ ...claim, status: { ...claim.status, devices } }, { subresource: "status" });
}

/** Waits for an event with this text. */
async function reported(cluster: TestCluster, text: string): Promise<void> {
  await cluster.until(text, async () => (await cluster.events()).some((event) => event.includes(text)));
}

test("a pod is bound when its device is attached, not before", () =>
  withAttachable(async (cluster, first) => {
    await cluster.settle();
    const { status } = await cluster.get(ResourceClaim, "c");
    assert.ok(status?.allocation?.allocationTimestamp, "the time to attach it runs");
    assert.deepEqual(status.allocation.devices?.results?.[0]?.bindingConditions, ["attached"]);
    assert.deepEqual(await cluster.events(), [
      "Normal BindingConditionsPending waiting for binding conditions for device on node n1",
    ]);
    await report(cluster, "attached");
    assert.equal(await cluster.bound("p"), "n1");
    const labels = `{profile="default-scheduler",driver="${driver}",status="success"}`;
    const lines = first.scheduler.metrics().split("\n");
    for (const name of ["allocations_total", "wait_duration_seconds_count"])
      assert.ok(lines.includes(`scheduler_dra_bindingconditions_${name}${labels} 1`), lines.join("\n"));
  }));

test("a device that cannot be attached is given up, and an event of the pod has the reason", () =>
  withAttachable(async (cluster) => {
    const before = (await cluster.get(ResourceClaim, "c")).status?.allocation;
    await report(cluster, "broken");
    await reported(cluster, 'device binding failed: claim=c, reason=Told, message="by the test"');
    await cluster.until("a new attempt", async () => {
      const { status } = await cluster.get(ResourceClaim, "c");
      return status?.allocation?.allocationTimestamp !== before?.allocationTimestamp;
    });
  }));

test("a device that takes too long is given up", () =>
  withAttachable(async (cluster, first) => {
    cluster.clock.advance(601_000);
    await reported(cluster, "device binding timeout: claim=c");
    const name = "scheduler_dra_bindingconditions_allocations_total";
    const timeouts = `${name}{profile="default-scheduler",driver="${driver}",status="timeout"} 1`;
    assert.ok(first.scheduler.metrics().split("\n").includes(timeouts));
  }));

test("a claim that is deallocated meanwhile does not count as ready", () =>
  withAttachable(async (cluster) => {
    await cluster.settle();
    await cluster.deallocate("c");
    await reported(cluster, "claim d/c got deallocated elsewhere in the meantime");
    await cluster.until("another allocation", async () => {
      const { status } = await cluster.get(ResourceClaim, "c");
      return status?.reservedFor !== undefined && status.allocation !== undefined;
    });
    assert.equal((await cluster.get(Pod, "p")).spec.nodeName, undefined);
    await report(cluster, "attached");
    assert.equal(await cluster.bound("p"), "n1");
  }));

test("a claim that is deleted meanwhile does not count as ready", () =>
  withAttachable(async (cluster) => {
    await cluster.settle();
    const ref = { namespace: "d", name: "c" };
    await cluster.client.resource(ResourceClaim).patch(ref, "merge", { metadata: { finalizers: null } });
    await cluster.client.resource(ResourceClaim).delete(ref);
    await reported(cluster, 'resourceclaim "c" not found');
    assert.equal((await cluster.get(Pod, "p")).spec.nodeName, undefined);
  }));

test("the time for devices runs on while no scheduler runs", () =>
  withAttachable(async (cluster, first) => {
    await cluster.settle();
    const before = (await cluster.get(ResourceClaim, "c")).status?.allocation;
    first.kill();
    cluster.clock.advance(590_000);
    await cluster.scheduler();
    await cluster.settle();
    cluster.clock.advance(9_000);
    await cluster.settle();
    assert.deepEqual((await cluster.get(ResourceClaim, "c")).status?.allocation, before);
    await cluster.until("another allocation", async () => {
      const { status } = await cluster.get(ResourceClaim, "c");
      return status?.allocation?.allocationTimestamp !== before?.allocationTimestamp;
    });
    assert.ok(cluster.clock.now() - Date.parse(before!.allocationTimestamp!) < 620_000);
  }));
