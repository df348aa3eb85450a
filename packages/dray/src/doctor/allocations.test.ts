import assert from "node:assert/strict";
import { test } from "node:test";
import { allocation, type Manifest, slice } from "../plan/testing.ts";
import { brief, cluster, examined, finds, held, two } from "./testing.ts";

const wrong = (message: string): string[] => [`wrong-allocation: ResourceClaim default/c ${message}`];
const selectors = (expression: string): object => ({ selectors: [{ cel: { expression } }] });

test("wrong-allocation: a selector that does not match, with the values that it reads", () => {
  const exactly = selectors('device.attributes["gpu.example.com"].model == "h100"');
  finds(
    cluster([held("c", allocation("a", "gpu-0"), ["p"], { exactly })]),
    wrong("would not get these devices on node a"),
    {
      evidence: /ruled out by a selector of the request: .*model = a100/,
      fix: "kubectl delete pod p -n default",
    },
  );
});

test("wrong-allocation: a selector that fails", () => {
  const exactly = selectors('device.attributes["gpu.example.com"].nosuch == "h100"');
  const objects = cluster([held("c", allocation("a", "gpu-0"), ["p"], { exactly })]);
  finds(objects, wrong("would not get these devices"), { evidence: /no such key: nosuch/ });
});

test("wrong-allocation: a class that is gone", () => {
  finds(cluster([], ["DeviceClass gpu"]), [
    ...wrong("has devices of a class that does not exist"),
    "missing-class: ResourceClaim default/open names DeviceClass gpu, which does not exist",
  ]);
});

test("wrong-allocation: more devices than were asked for, and fewer", () => {
  finds(cluster([held("c", two("gpu-0", "gpu-1"), ["p"])]), wrong("has 1 device more than it asks for"));
  const fewer = cluster([held("c", allocation("a", "gpu-0"), ["p"], { exactly: { count: 2 } })]);
  finds(fewer, wrong("would not get these devices on node a"), { evidence: /wants 2 devices/ });
});

test("wrong-allocation: devices given to each other's requests", () => {
  const request = (name: string, index: number): object => ({
    name,
    exactly: {
      deviceClassName: "gpu",
      ...selectors(`device.attributes["gpu.example.com"].index == ${index}`),
    },
  });
  const given = (...devices: readonly string[]): object => ({
    ...allocation("a"),
    devices: {
      results: devices.map((device, i) => ({
        request: `r${i}`,
        driver: "gpu.example.com",
        pool: "a",
        device,
      })),
    },
  });
  const objects = (...devices: readonly string[]): readonly Manifest[] => {
    const spec = { devices: { requests: [request("r0", 0), request("r1", 1)] } };
    return cluster([{ ...held("c", given(...devices), ["p"]), spec }]);
  };
  finds(objects("gpu-0", "gpu-1"), []);
  finds(objects("gpu-1", "gpu-0"), wrong("would not get these devices on node a"));
});

test("wrong-allocation: an alternative other than the first is right", () => {
  const results = [{ request: "gpu/second", driver: "gpu.example.com", pool: "a", device: "gpu-0" }];
  const given = { ...allocation("a"), devices: { results } };
  const alternatives = (name: string): object => ({
    devices: {
      requests: [
        {
          name: "gpu",
          firstAvailable: [
            { name: "first", deviceClassName: "gpu" },
            { name, deviceClassName: "gpu" },
          ],
        },
      ],
    },
  });
  finds(cluster([{ ...held("c", given, ["p"]), spec: alternatives("second") }]), []);
});

test("wrong-allocation: taints count if they were there before", () => {
  const tainted = (timeAdded: string): Manifest =>
    slice("a", [
      {
        name: "gpu-0",
        attributes: { model: { string: "a100" } },
        taints: [{ key: "broken", effect: "NoSchedule", timeAdded }],
      },
      { name: "gpu-1" },
    ]);
  const given = { ...allocation("a", "gpu-0"), allocationTimestamp: "2026-01-01T10:00:00Z" };
  const objects = (timeAdded: string): readonly Manifest[] =>
    cluster([tainted(timeAdded), held("c", given, ["p"])]);
  finds(objects("2026-01-01T10:00:00Z"), []);
  finds(objects("2026-01-01T09:59:59Z"), wrong("would not get these devices on node a"), {
    evidence: /broken:NoSchedule is not tolerated/,
  });
});

test("wrong-allocation: nodes that do not have the devices, and nodes that do not exist", () => {
  const { nodeSelector: _, ...everywhere } = allocation("a", "gpu-0") as { nodeSelector: unknown };
  finds(
    cluster([held("c", everywhere, ["p"])]),
    wrong("lets its pods run on nodes that do not have its devices"),
    {
      evidence: /nodeSelector matches b; the devices are on a/,
    },
  );
  const elsewhere = {
    ...everywhere,
    nodeSelector: (allocation("z") as { nodeSelector: unknown }).nodeSelector,
  };
  const findings = examined(cluster([held("c", elsewhere, ["p"])]));
  assert.deepEqual(brief(findings), [
    ...wrong("is for nodes that do not exist"),
    "pod-without-devices: Pod default/p runs on node a without its devices",
  ]);
});

test("wrong-allocation: a share that consumes something else", () => {
  const device = { name: "gpu-0", allowMultipleAllocations: true, capacity: { memory: { value: "80Gi" } } };
  const result = {
    ...{ request: "gpu", driver: "gpu.example.com", pool: "a", device: "gpu-0" },
    ...{ shareID: "00000000-0000-4000-8000-000000000001", consumedCapacity: { memory: "10Gi" } },
  };
  const given = { ...allocation("a"), devices: { results: [result] } };
  const exactly = { capacity: { requests: { memory: "40Gi" } } };
  finds(
    cluster([slice("a", [device]), held("c", given, ["p"], { exactly })]),
    wrong("consumes other amounts than it asks for"),
    { evidence: /consumes 10Gi of memory, and asks for 40Gi/ },
  );
});
