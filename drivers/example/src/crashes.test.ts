import assert from "node:assert/strict";
import { test } from "node:test";
import { checkCrashes, startDriverNode } from "@dray/driver/testing";
import { exampleDriver, gpuProfile } from "./index.ts";

const make = () => exampleDriver({ nodeName: "node-1", profile: gpuProfile("node-1", { count: 3 }) });
const config = (strategy: string) => ({
  parameters: {
    apiVersion: "gpu.resource.example.com/v1alpha1",
    kind: "GpuConfig",
    sharing: { strategy },
  },
});

test("the driver survives a crash at every step of preparing and unpreparing", async () => {
  await checkCrashes(make, { devices: [{ device: "gpu-0" }, { device: "gpu-2" }] });
});

test("the claim's sharing takes precedence over the class's; an invalid one in either is an error", async () => {
  const node = await startDriverNode(make);
  try {
    const claim = await node.claim({
      devices: [{ device: "gpu-1" }],
      config: [config("SpacePartitioning"), { ...config("TimeSlicing"), source: "FromClass" }],
    });
    const { env } = await (await claim.prepare()).container();
    assert.equal(env["GPU_DEVICE_1_SHARING_STRATEGY"], "SpacePartitioning");
    await claim.unprepare();
    const wrong = await node.claim({
      devices: [{ device: "gpu-1" }],
      config: [{ ...config("Rent"), source: "FromClass" }, config("TimeSlicing")],
    });
    await assert.rejects(wrong.prepare(), /GpuConfig sharing\.strategy: "Rent" is not supported/);
  } finally {
    await node.close();
  }
});
