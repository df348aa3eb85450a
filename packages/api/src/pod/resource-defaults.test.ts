import assert from "node:assert/strict";
import { test } from "node:test";
import { setDefaults } from "../defaults/index.ts";
import type { Pod, PodSpec, ResourceRequirements } from "../generated/core/v1.ts";
import { defaultPodLevelResources } from "./index.ts";

const now = "2026-01-01T00:00:00Z";

function completed(
  version: "1.36" | "1.37",
  resources: ResourceRequirements | undefined,
  ...containers: ResourceRequirements[]
): ResourceRequirements | undefined {
  const spec = {
    containers: containers.map((each, index) => ({ name: `c${index}`, resources: each })),
    ...(resources && { resources }),
  } as PodSpec;
  defaultPodLevelResources(spec, version);
  return spec.resources;
}

test("pod-level requests default from the containers, then from pod-level limits", () => {
  for (const version of ["1.36", "1.37"] as const) {
    assert.equal(completed(version, undefined, { requests: { cpu: "1" } }), undefined);
    assert.deepEqual(completed(version, {}, { requests: { cpu: "1" } }), {});
    assert.deepEqual(
      completed(
        version,
        { limits: { cpu: "4", memory: "1Gi" } },
        { requests: { cpu: "1" } },
        { requests: { cpu: "500m" } },
      ),
      { limits: { cpu: "4", memory: "1Gi" }, requests: { cpu: "1500m", memory: "1Gi" } },
      version,
    );
    // Only resources of a pod's level.
    assert.deepEqual(
      completed(version, { limits: { cpu: "4" } }, { requests: { cpu: "1", "example.com/gpu": "1" } }),
      { limits: { cpu: "4" }, requests: { cpu: "1" } },
      version,
    );
  }
});

test("pod-level huge pages default to the sum of the containers", () => {
  const pages = (amount: string): ResourceRequirements => ({
    requests: { "hugepages-2Mi": amount },
    limits: { "hugepages-2Mi": amount },
  });
  for (const version of ["1.36", "1.37"] as const) {
    assert.deepEqual(completed(version, { requests: { cpu: "1" } }, pages("2Mi"), pages("4Mi")), {
      requests: { cpu: "1", "hugepages-2Mi": "6Mi" },
      limits: { "hugepages-2Mi": "6Mi" },
    });
    // The pod has a request of its own.
    const own = completed(version, { requests: { "hugepages-2Mi": "8Mi" } }, pages("2Mi"));
    assert.deepEqual(own?.requests, { "hugepages-2Mi": "8Mi" });
  }
});

test("from 1.37 on requests alone are completed, and limits where all containers have one", () => {
  const limited = (cpu: string): ResourceRequirements => ({ requests: { cpu: "100m" }, limits: { cpu } });
  const asks = (): ResourceRequirements => ({ requests: { memory: "1Gi" } });
  assert.deepEqual(completed("1.36", asks(), limited("1"), limited("2")), asks());
  assert.deepEqual(completed("1.37", asks(), limited("1"), limited("2")), {
    requests: { memory: "1Gi", cpu: "200m" },
    limits: { cpu: "3" },
  });
  assert.deepEqual(completed("1.37", { requests: { cpu: "5" } }, limited("1"), limited("2")), {
    requests: { cpu: "5" },
    limits: { cpu: "5" },
  });
  assert.deepEqual(completed("1.37", { requests: { cpu: "5" } }, limited("1"), {}), {
    requests: { cpu: "5" },
  });
});

test("setDefaults completes pod-level requests until 1.36 only", () => {
  const defaulted = (release: string): ResourceRequirements | undefined => {
    const pod = { metadata: { name: "p" }, spec: { containers: [], resources: { limits: { cpu: "1" } } } };
    setDefaults({ group: "", version: "v1", kind: "Pod" }, pod as never, { now, release });
    return (pod as unknown as Pod).spec.resources;
  };
  assert.deepEqual(defaulted("1.36"), { limits: { cpu: "1" }, requests: { cpu: "1" } });
  assert.deepEqual(defaulted("1.37"), { limits: { cpu: "1" } });
});
