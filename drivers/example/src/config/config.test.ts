import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeGpuConfig, decodeNetConfig } from "../index.ts";

const sharing = (strategy: string, more: object = {}) => ({
  apiVersion: "gpu.resource.example.com/v1alpha1",
  kind: "GpuConfig",
  sharing: { strategy, ...more },
});

test("GpuConfig: defaults, and errors that name the field", () => {
  const head = { apiVersion: "gpu.resource.example.com/v1alpha1", kind: "GpuConfig" };
  assert.deepEqual(decodeGpuConfig(head), { strategy: "TimeSlicing", interval: "Default" });
  assert.deepEqual(decodeGpuConfig(sharing("SpacePartitioning")), {
    strategy: "SpacePartitioning",
    partitionCount: 1,
  });
  const cases: [unknown, string][] = [
    ["text", 'GpuConfig: "text" must be an object'],
    [
      { ...head, apiVersion: "v1" },
      'GpuConfig apiVersion: "v1" is not supported, supported are "gpu.resource.example.com/v1alpha1"',
    ],
    [
      { ...head, kind: "NetConfig" },
      'GpuConfig kind: "NetConfig" is not supported, supported are "GpuConfig"',
    ],
    [{ ...head, colour: 1 }, "GpuConfig colour: unknown field; known are apiVersion, kind, sharing"],
    [
      sharing("Fair"),
      'GpuConfig sharing.strategy: "Fair" is not supported, supported are "TimeSlicing", "SpacePartitioning"',
    ],
    [
      sharing("TimeSlicing", { timeSlicingConfig: { interval: "Never" } }),
      'GpuConfig sharing.timeSlicingConfig.interval: "Never" is not supported, supported are "Default", "Short", "Medium", "Long"',
    ],
    [
      sharing("SpacePartitioning", { spacePartitioningConfig: { partitionCount: 0 } }),
      "GpuConfig sharing.spacePartitioningConfig.partitionCount: 0 must be a positive integer",
    ],
    [
      sharing("TimeSlicing", { spacePartitioningConfig: { partitionCount: 1 } }),
      "GpuConfig sharing.spacePartitioningConfig: cannot be used with strategy TimeSlicing",
    ],
  ];
  for (const [parameters, message] of cases) assert.throws(() => decodeGpuConfig(parameters), { message });
});

test("NetConfig: defaults, and errors that name the field", () => {
  const head = { apiVersion: "net.resource.example.com/v1alpha1", kind: "NetConfig" };
  assert.deepEqual(decodeNetConfig(head), { ingress: 0n, egress: 0n });
  const burst = (ingressBurst: unknown) => ({ ...head, bwBurst: { ingressBurst } });
  // Traffic shaping counts 2^32 - 2 bytes and 7 bits at most.
  assert.deepEqual(decodeNetConfig(burst(34_359_738_359)), { ingress: 34_359_738_359n, egress: 0n });
  const must = "must be a whole number of bits from 0 to 34359738359";
  const cases: [unknown, string][] = [
    [
      { ...head, kind: "GpuConfig" },
      'NetConfig kind: "GpuConfig" is not supported, supported are "NetConfig"',
    ],
    [{ ...head, burst: 1 }, "NetConfig burst: unknown field; known are apiVersion, kind, bwBurst"],
    [
      { ...head, bwBurst: { ingress: 1 } },
      "NetConfig bwBurst.ingress: unknown field; known are ingressBurst, egressBurst",
    ],
    [burst(34_359_738_360), `NetConfig bwBurst.ingressBurst: 34359738360 ${must}`],
    [burst(2n ** 63n), `NetConfig bwBurst.ingressBurst: 9223372036854775808 ${must}`],
    [burst(-1), `NetConfig bwBurst.ingressBurst: -1 ${must}`],
    [burst(1.5), `NetConfig bwBurst.ingressBurst: 1.5 ${must}`],
    [burst("8"), `NetConfig bwBurst.ingressBurst: "8" ${must}`],
  ];
  for (const [parameters, message] of cases) assert.throws(() => decodeNetConfig(parameters), { message });
});
