import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod, PodSpec } from "@dray/api/core/v1";
import { partial } from "@dray/testing/partial";
import { refuseUnderPressure } from "./admission.ts";
import type { PressureCondition } from "./signals.ts";

const podOf = (spec: Partial<PodSpec>, annotations: Record<string, string> = {}): Pod =>
  partial<Pod>({
    metadata: { name: "a", annotations },
    spec: { containers: [{ name: "main", image: "any" }], ...spec },
  });

const requests = { containers: [{ name: "main", image: "any", resources: { requests: { memory: "1Mi" } } }] };
const tolerating = (key: string): Partial<PodSpec> => ({ tolerations: [{ key, operator: "Exists" }] });
const memory = "node.kubernetes.io/memory-pressure";

test("under pressure a node takes critical pods, and under that of memory alone some others", () => {
  const cases: [what: string, pod: Pod, conditions: PressureCondition[], admitted: boolean][] = [
    ["no pressure", podOf({}), [], true],
    ["best effort", podOf({}), ["MemoryPressure"], false],
    ["burstable", podOf(requests), ["MemoryPressure"], true],
    ["burstable", podOf(requests), ["MemoryPressure", "PIDPressure"], false],
    ["burstable", podOf(requests), ["DiskPressure"], false],
    ["tolerating", podOf(tolerating(memory)), ["MemoryPressure"], true],
    ["tolerating another", podOf(tolerating("x")), ["MemoryPressure"], false],
    ["tolerating", podOf(tolerating("node.kubernetes.io/disk-pressure")), ["DiskPressure"], false],
    ["critical", podOf({ priority: 2_000_000_000 }), ["DiskPressure"], true],
    ["nearly critical", podOf({ priority: 1_999_999_999 }), ["DiskPressure"], false],
    ["static", podOf({}, { "kubernetes.io/config.source": "file" }), ["DiskPressure"], true],
  ];
  for (const [what, pod, conditions, admitted] of cases) {
    const refusal = refuseUnderPressure(pod, new Set(conditions));
    assert.equal(refusal === undefined, admitted, `${what}, ${conditions}`);
  }
  assert.deepEqual(refuseUnderPressure(podOf({}), new Set(["DiskPressure", "PIDPressure"])), {
    reason: "Evicted",
    message: "The node had condition: [DiskPressure PIDPressure]. ",
  });
});
