import assert from "node:assert/strict";
import { test } from "node:test";
import { ResourceClaim, ResourceSlice } from "@dray/api/resource/v1";
import { type TestCluster, uses, withCluster } from "./testing.ts";

const driver = "gpu.example.com";

/** One node with one device that has to be attached before a pod may use it. */
async function withAttachable(run: (cluster: TestCluster) => Promise<void>): Promise<void> {
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
    await cluster.scheduler();
    await cluster.claim("c");
    await cluster.pod("p", uses("c"));
    await cluster.until(
      "an allocation",
      async () => (await cluster.get(ResourceClaim, "c")).status?.allocation,
    );
    await run(cluster);
  });
}

/** What the driver's controller says of the device. */
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

test("a pod is bound when its device is attached, not before", () =>
  withAttachable(async (cluster) => {
    await cluster.settle();
    const { status } = await cluster.get(ResourceClaim, "c");
    assert.ok(status?.allocation?.allocationTimestamp, "the time to attach it runs");
    assert.deepEqual(status.allocation.devices?.results?.[0]?.bindingConditions, ["attached"]);
    assert.deepEqual(await cluster.events(), []);
    await report(cluster, "attached");
    assert.equal(await cluster.bound("p"), "n1");
  }));

test("a device that cannot be attached is given up, and the pod is told why", () =>
  withAttachable(async (cluster) => {
    const before = (await cluster.get(ResourceClaim, "c")).status?.allocation;
    await report(cluster, "broken");
    const told = "claim c binding failed: reason=Told, message=by the test";
    await cluster.until("the failure", async () =>
      (await cluster.events()).some((event) => event.includes(told)),
    );
    await cluster.until("a new attempt", async () => {
      const { status } = await cluster.get(ResourceClaim, "c");
      return status?.allocation?.allocationTimestamp !== before?.allocationTimestamp;
    });
  }));

test("a device that takes too long is given up", () =>
  withAttachable(async (cluster) => {
    cluster.clock.pass(601_000);
    await cluster.until("the failure", async () =>
      (await cluster.events()).some((event) => event.includes("device binding timeout")),
    );
  }));
