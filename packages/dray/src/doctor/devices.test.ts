import assert from "node:assert/strict";
import { partitionedGpu } from "../inventory/testing.ts";
import { allocation, type Manifest, slice } from "../plan/testing.ts";
import { brief, cluster, examined, finds, held, rule, running } from "./testing.ts";

rule("device-given-twice", () => {
  finds(
    cluster([running("q", "a", "d"), held("d", allocation("a", "gpu-0"), ["q"])]),
    [
      "device-given-twice: ResourceClaim default/d has device gpu.example.com/a/gpu-0, which default/c has too",
    ],
    { evidence: /default\/c has it for itself, for pods p/, fix: "kubectl delete pod q -n default" },
  );
  const admin = allocation("a", "gpu-0") as { devices: { results: object[] } };
  const seen = {
    ...admin,
    devices: { results: admin.devices.results.map((each) => ({ ...each, adminAccess: true })) },
  };
  const findings = examined(
    cluster([running("q", "a", "d"), held("d", seen, ["q"], { exactly: { adminAccess: true } })]),
  );
  assert.deepEqual(brief(findings), [], "admin access takes nothing");
});

const shared = (capacity: string): Manifest =>
  slice("a", [
    {
      name: "gpu-0",
      allowMultipleAllocations: true,
      attributes: { model: { string: "a100" } },
      capacity: { memory: { value: capacity } },
    },
  ]);
const share = (id: string, memory: string): object => ({
  ...allocation("a"),
  devices: {
    results: [
      {
        request: "gpu",
        driver: "gpu.example.com",
        pool: "a",
        device: "gpu-0",
        shareID: `00000000-0000-4000-8000-00000000000${id}`,
        consumedCapacity: { memory },
      },
    ],
  },
});
const asks = (memory: string): object => ({ exactly: { capacity: { requests: { memory } } } });

rule("capacity-overdrawn", () => {
  const holders = [
    running("q", "a", "d"),
    held("c", share("1", "40Gi"), ["p"], asks("40Gi")),
    held("d", share("2", "30Gi"), ["q"], asks("30Gi")),
  ];
  finds(cluster([shared("70Gi"), ...holders]), []);
  finds(
    cluster([shared("60Gi"), ...holders]),
    [
      "capacity-overdrawn: ResourceSlice a-gpus device gpu.example.com/a/gpu-0: its shares consume 70Gi of memory, and it has 60Gi",
    ],
    { evidence: /default\/d consumes 30Gi/, fix: "kubectl delete pod q -n default" },
  );
});

rule("counter-overdrawn", () => {
  const of = (device: string): object => ({
    ...allocation("a"),
    devices: { results: [{ request: "gpu", driver: "gpu.example.com", pool: "a-g", device }] },
  });
  const objects = (first: string, second: string): readonly Manifest[] =>
    cluster([
      ...partitionedGpu("a", "g"),
      running("q", "a", "d"),
      held("c", of(first), ["p"]),
      held("d", of(second), ["q"]),
    ]);
  finds(objects("g-half-0", "g-half-1"), []);
  finds(
    objects("g-half-0", "g-whole"),
    [
      "counter-overdrawn: ResourceSlice a-g-counters pool a-g: devices that are allocated consume 120Gi of counter memory of set g, and there is 80Gi",
    ],
    { evidence: /g-whole consumes 80Gi: default\/d has it/ },
  );
});

rule("device-not-published", () => {
  finds(
    cluster([held("c", allocation("a", "gpu-7"), ["p"])]),
    [
      "device-not-published: ResourceClaim default/c has device gpu.example.com/a/gpu-7, which no ResourceSlice publishes",
    ],
    { evidence: /the pool has gpu-0, gpu-1/ },
  );
});
