/** Counters (KEP-4815) and capacity (KEP-5075) that another scheduler allocates at the same time. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Pod } from "@dray/api/core/v1";
import { DeviceClass, ResourceClaim, ResourceSlice } from "@dray/api/resource/v1";
import { devicesOf, type TestCluster, uses, withCluster } from "../../testing/cluster.ts";

const driver = "gpu.example.com";
const memory = (value: string): object[] => [{ counterSet: "gpu", counters: { memory: { value } } }];

/**
 * Node n1 with a GPU, whole or in halves, and a link of capacity 10 that is shared; class `gpu` has all of
 * them.
 */
async function withNode(run: (cluster: TestCluster) => Promise<void>): Promise<void> {
  await withCluster(async (cluster) => {
    await cluster.node("n1");
    await cluster.gpuClass();
    const slice = (name: string, spec: object): Promise<ResourceSlice> =>
      cluster.create(ResourceSlice, {
        metadata: { name },
        spec: { driver, nodeName: "n1", pool: { name: "n1", generation: 1, resourceSliceCount: 2 }, ...spec },
      });
    await slice("counters", { sharedCounters: [{ name: "gpu", counters: { memory: { value: "80Gi" } } }] });
    await slice("devices", {
      devices: [
        { name: "whole", consumesCounters: memory("80Gi") },
        { name: "half", consumesCounters: memory("40Gi") },
        { name: "link", capacity: { bandwidth: { value: "10" } }, allowMultipleAllocations: true },
      ],
    });
    await run(cluster);
  });
}

/** Another scheduler stores this result for claim `theirs` after ours has chosen, and before it writes. */
async function whileTheyTake(cluster: TestCluster, result: object): Promise<void> {
  const { beforeAnswers } = await cluster.scheduler();
  const allocation = { devices: { results: [{ request: "gpu", driver, pool: "n1", ...result }] } };
  beforeAnswers(async (method, url) => {
    if (method !== "PUT" || !url.endsWith("/ours")) return;
    const status = { allocation, reservedFor: [{ resource: "pods", name: "x", uid: "x" }] };
    await cluster.client
      .resource(ResourceClaim)
      .patch({ namespace: "d", name: "theirs" }, "merge", { status }, { subresource: "status" });
  });
}

test("a device is given up whose counters another scheduler takes in the same moment", () =>
  withNode(async (cluster) => {
    await whileTheyTake(cluster, { device: "half" });
    await cluster.claim("theirs");
    await cluster.claim("ours");
    await cluster.pod("p", uses("ours"));
    assert.equal(
      await cluster.refused("p", "SchedulerError"),
      "device gpu.example.com/n1/whole of claim d/ours was allocated to others, too: counter memory of set gpu is used up",
    );
    assert.equal((await cluster.get(Pod, "p")).spec.nodeName, undefined);
    await cluster.deallocate("theirs");
    assert.equal(await cluster.bound("p"), "n1");
    assert.deepEqual(devicesOf(await cluster.get(ResourceClaim, "ours")), ["gpu.example.com/n1/whole"]);
  }));

test("a share is given up whose capacity another scheduler takes in the same moment", () =>
  withNode(async (cluster) => {
    const share = { shareID: "5ad39f28-0b73-4b64-8c8a-2d4a2a2b0001", consumedCapacity: { bandwidth: "6" } };
    await whileTheyTake(cluster, { device: "link", ...share });
    const link = {
      exactly: {
        deviceClassName: "gpu",
        capacity: { requests: { bandwidth: "6" } },
        selectors: [{ cel: { expression: "device.allowMultipleAllocations == true" } }],
      },
    };
    await cluster.claim("theirs", link);
    await cluster.claim("ours", link);
    await cluster.pod("p", uses("ours"));
    assert.equal(
      await cluster.refused("p", "SchedulerError"),
      "device gpu.example.com/n1/link of claim d/ours was allocated to others, too: its capacity bandwidth is used up",
    );
    assert.deepEqual(devicesOf(await cluster.get(ResourceClaim, "ours")), []);
    await cluster.deallocate("theirs");
    assert.equal(await cluster.bound("p"), "n1");
  }));

test("the claim of an extended resource takes its share once", () =>
  withNode(async (cluster) => {
    await cluster.create(DeviceClass, {
      metadata: { name: "links" },
      spec: {
        extendedResourceName: "example.com/link",
        selectors: [{ cel: { expression: "device.allowMultipleAllocations == true" } }],
      },
    });
    await cluster.scheduler();
    const resources = { limits: { "example.com/link": "1" } };
    await cluster.pod("p", { containers: [{ name: "c", image: "i", resources }] });
    assert.equal(await cluster.bound("p"), "n1");
    const [claim] = await cluster.list(ResourceClaim);
    const [result] = claim?.status?.allocation?.devices?.results ?? [];
    assert.deepEqual(result?.consumedCapacity, { bandwidth: "10" });
  }));

test("a claim that others have allocated is not used while its counters are taken by another", () =>
  withNode(async (cluster) => {
    await cluster.scheduler();
    // Its scheduler has not looked yet whether it may keep it, and another pod has it already.
    for (const [name, device] of [
      ["theirs", "half"],
      ["ours", "whole"],
    ] as const) {
      await cluster.claim(name);
      const status = {
        allocation: {
          allocationTimestamp: "2026-01-01T00:00:00Z",
          devices: { results: [{ request: "gpu", driver, pool: "n1", device }] },
        },
        reservedFor: [{ resource: "pods", name: "x", uid: "x" }],
      };
      await cluster.client
        .resource(ResourceClaim)
        .patch({ namespace: "d", name }, "merge", { status }, { subresource: "status" });
    }
    await cluster.pod("p", uses("ours"));
    assert.equal(
      await cluster.refused("p", "SchedulerError"),
      "device gpu.example.com/n1/whole of claim d/ours was allocated to others, too: counter memory of set gpu is used up",
    );
    await cluster.deallocate("theirs");
    assert.equal(await cluster.bound("p"), "n1");
  }));
