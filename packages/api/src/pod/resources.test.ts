import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type { PodSpec, PodStatus } from "../generated/core/v1.ts";
import {
  type Amounts,
  amountsOf,
  containerTotal,
  hasPodLevelRequests,
  hasPodLevelResources,
  isPodLevelResource,
  type PodResourceOptions,
  podLimits,
  podRequests,
} from "./index.ts";

interface Recorded {
  readonly version: string;
  readonly options: Omit<PodResourceOptions, "missing"> & { readonly missing?: Record<string, string> };
  readonly spec: PodSpec;
  readonly status: PodStatus;
  readonly requests: Record<string, string>;
  readonly limits: Record<string, string>;
}

const textsOf = (amounts: Amounts): Record<string, string> =>
  Object.fromEntries([...amounts].map(([name, quantity]) => [name, quantity.toString()]));

test("random pods have the requests and limits that k8s.io/component-helpers of the release computes", () => {
  const lines = readFileSync(new URL("testdata/resources.jsonl", import.meta.url), "utf8")
    .trim()
    .split("\n");
  for (const line of lines) {
    const { options, requests, limits, ...pod } = JSON.parse(line) as Recorded;
    const { missing, ...rest } = options;
    const all: PodResourceOptions = { ...rest, ...(missing && { missing: amountsOf(missing) }) };
    assert.deepEqual(textsOf(podRequests(pod, all)), requests, line);
    assert.deepEqual(textsOf(podLimits(pod, all)), limits, line);
  }
});

const container = (name: string, cpu: string, more: object = {}) => ({
  name,
  resources: { requests: { cpu }, limits: { cpu } },
  ...more,
});
const cpu = (spec: PodSpec, options?: PodResourceOptions): string | undefined =>
  podRequests({ spec }, options).get("cpu")?.toString();

test("sidecars count beside what runs with them, whatever rules other init containers have", () => {
  const containers = [container("main", "1")];
  const sidecar = container("side", "1", { restartPolicy: "Always" });
  const large = container("init", "5", { restartPolicy: "OnFailure" });
  assert.equal(cpu({ containers, initContainers: [sidecar] }), "2");
  assert.equal(cpu({ containers, initContainers: [sidecar, large] }), "6");
  assert.equal(cpu({ containers, initContainers: [large, sidecar] }), "5");
});

test("requests of the pod replace the sum for resources of its level only; overhead is added to both", () => {
  const spec: PodSpec = {
    containers: [{ name: "main", resources: { requests: { cpu: "1", "example.com/gpu": "1" } } }],
    resources: { requests: { cpu: "3", "example.com/gpu": "7" } },
    overhead: { cpu: "100m" },
  };
  assert.deepEqual(textsOf(podRequests({ spec })), { cpu: "3100m", "example.com/gpu": "1" });
  assert.equal(cpu(spec, { overhead: false }), "3");
  assert.equal(containerTotal({ spec }, "requests").get("cpu")?.toString(), "1");
  assert.deepEqual(["cpu", "memory", "hugepages-2Mi", "pods"].map(isPodLevelResource), [
    true,
    true,
    true,
    false,
  ]);
  assert.equal(hasPodLevelRequests({ spec }), true);
  const onlyLimits = { ...spec, resources: { limits: { memory: "1Gi" } } };
  assert.deepEqual(
    [hasPodLevelRequests({ spec: onlyLimits }), hasPodLevelResources({ spec: onlyLimits })],
    [false, true],
  );
});

test("of two resizes at once 1.36 counts each container's larger amount, 1.37 the larger sum", () => {
  const spec: PodSpec = { containers: [container("grows", "2"), container("shrinks", "1")] };
  const reported = (name: string, amount: string) => ({
    name,
    resources: { requests: { cpu: amount } },
    allocatedResources: { cpu: amount },
  });
  const status = {
    containerStatuses: [reported("grows", "1"), reported("shrinks", "2")],
  } as unknown as PodStatus;
  const of = (useStatus: "1.36" | "1.37", more: object = {}): string | undefined =>
    podRequests({ spec, status: { ...status, ...more } }, { useStatus })
      .get("cpu")
      ?.toString();
  assert.equal(cpu(spec), "3");
  assert.equal(of("1.36"), "4");
  assert.equal(of("1.37"), "3");
  // The node does not do an infeasible resize: its report alone counts.
  const infeasible = { conditions: [{ type: "PodResizePending", status: "True", reason: "Infeasible" }] };
  assert.equal(
    podRequests(
      { spec: { containers: [container("grows", "9")] }, status: { ...status, ...infeasible } },
      { useStatus: "1.37" },
    )
      .get("cpu")
      ?.toString(),
    "1",
  );
});
