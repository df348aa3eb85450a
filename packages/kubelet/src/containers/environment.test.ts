import assert from "node:assert/strict";
import { test } from "node:test";
import type { Container } from "@dray/api/core/v1";
import { resourceValue } from "./environment.ts";

const container: Container = {
  name: "main",
  resources: { limits: { cpu: "1500m", "ephemeral-storage": "0" }, requests: { memory: "100Mi" } },
};
const ofPod = { memory: "1Gi" };
const ofNode = { cpu: "8", memory: "16Gi", "ephemeral-storage": "10Gi", "hugepages-2Mi": "4Mi" };

const table: [resource: string, divisor: string | undefined, expected: string][] = [
  ["limits.cpu", undefined, "2"],
  ["limits.cpu", "0", "2"],
  ["limits.cpu", "1m", "1500"],
  ["limits.memory", "1Mi", "1024"],
  ["requests.memory", "3Mi", "34"],
  // Zero is a limit that is not set.
  ["limits.ephemeral-storage", "1Gi", "10"],
  ["requests.cpu", undefined, "0"],
  // Huge pages are never overcommitted: the node's do not count.
  ["limits.hugepages-2Mi", undefined, "0"],
];

test("resource fields: the container's own, else the pod's limit, else what the node has", () => {
  for (const [resource, divisor, expected] of table)
    assert.equal(resourceValue(container, resource, divisor, [ofPod, ofNode]), expected, resource);
  assert.throws(() => resourceValue(container, "limits.example.com/gpu", undefined, []), {
    message: "unsupported container resource : limits.example.com/gpu",
  });
});
