/** A cluster of manifests, without processes. */
import { featuresOf } from "@dray/api";
import { readObjects } from "../manifests/read.ts";
import { Selectors } from "../manifests/selectors.ts";
import { sourceOf } from "../manifests/source.ts";
import type { World } from "../manifests/world.ts";
import type { Manifest } from "../plan/testing.ts";

export const features = featuresOf(
  "1.37",
  new Map(
    [
      "DRAPartitionableDevices",
      "DRAConsumableCapacity",
      "DRADeviceTaints",
      "DRADeviceTaintRules",
      "GenericWorkload",
    ].map((gate) => [gate, true]),
  ),
);

/** Throws if one of the objects is invalid. */
export function worldOf(objects: readonly Manifest[], furtherKinds?: ReadonlySet<string>): World {
  return worldOfText(JSON.stringify({ apiVersion: "v1", kind: "List", items: objects }), furtherKinds);
}

/** Reads one document. Throws if an object is invalid. */
export function worldOfText(text: string, furtherKinds: ReadonlySet<string> = new Set()): World {
  const { world, problems } = readObjects(
    { sources: [sourceOf("test.json", text)], problems: [] },
    {
      features,
      namespace: "default",
      selectors: new Selectors(features),
      now: "2026-01-01T00:00:00Z",
      furtherKinds,
    },
  );
  if (problems.length > 0) throw new Error(JSON.stringify(problems));
  return world;
}

/** The pool of a GPU whose partitions share counters, which are in a separate slice. */
export function counterPool(
  nodeName: string,
  gpu: string,
  counters: object,
  devices: readonly object[],
): Manifest[] {
  const slice = (name: string, more: object): Manifest => ({
    apiVersion: "resource.k8s.io/v1",
    kind: "ResourceSlice",
    metadata: { name: `${nodeName}-${gpu}-${name}` },
    spec: {
      driver: "gpu.example.com",
      nodeName,
      pool: { name: `${nodeName}-${gpu}`, generation: 1, resourceSliceCount: 2 },
      ...more,
    },
  });
  return [slice("counters", { sharedCounters: [{ name: gpu, counters }] }), slice("devices", { devices })];
}

/** A GPU of a node as partitions: the whole and halves, which share a counter. */
export function partitionedGpu(nodeName: string, gpu: string): Manifest[] {
  const uses = (name: string, memory: string, kind: string): object => ({
    name: `${gpu}-${name}`,
    attributes: { kind: { string: kind } },
    consumesCounters: [{ counterSet: gpu, counters: { memory: { value: memory } } }],
  });
  return counterPool(nodeName, gpu, { memory: { value: "80Gi" } }, [
    uses("whole", "80Gi", "whole"),
    uses("half-0", "40Gi", "half"),
    uses("half-1", "40Gi", "half"),
  ]);
}

export const deviceClass = (name: string, expression: string): Manifest => ({
  apiVersion: "resource.k8s.io/v1",
  kind: "DeviceClass",
  metadata: { name },
  spec: { selectors: [{ cel: { expression } }] },
});

/** A claim with these devices, `pool/device`, for the pods. */
export function heldClaim(
  name: string,
  devices: readonly string[],
  pods: readonly string[] = [],
  { exactly = {}, result = {} }: { readonly exactly?: object; readonly result?: object } = {},
): Manifest {
  const results = devices.map((each) => {
    const [pool, device] = each.split("/");
    return { request: "gpu", driver: "gpu.example.com", pool, device, ...result };
  });
  return {
    apiVersion: "resource.k8s.io/v1",
    kind: "ResourceClaim",
    metadata: { name },
    spec: {
      devices: {
        requests: [{ name: "gpu", exactly: { deviceClassName: "gpu", count: devices.length, ...exactly } }],
      },
    },
    status: {
      allocation: { devices: { results } },
      reservedFor: pods.map((pod) => ({ resource: "pods", name: pod, uid: `uid-of-${pod}` })),
    },
  };
}
