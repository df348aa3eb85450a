import assert from "node:assert/strict";
import { test } from "node:test";
import { asking, nodeInfo, podOf, scores } from "../testing/plugins.ts";
import { nodeResourcesBalancedAllocation } from "./balanced-allocation.ts";

const resources = [
  { name: "cpu", weight: 1 },
  { name: "memory", weight: 1 },
];
const newest = nodeResourcesBalancedAllocation({ resources }, "1.37");

const nodes = [
  // With the pod 75 % and 50 %: (1 - 0.125) * 100 = 87; without it 0 and 0: 100.
  nodeInfo("even", { allocatable: { cpu: "4", memory: "10000" } }),
  // With the pod 80 % and 80 %, without it 20 % and 60 %: 80.
  nodeInfo("mends", {
    allocatable: { cpu: "5", memory: "25000" },
    pods: [asking({ cpu: "1", memory: "15000" })],
  }),
];
const pod = asking({ cpu: "3", memory: "5000" });

/** Upstream: noderesources/balanced_allocation.go, balancedResourceScorer, of 1.36 and later, and of 1.35 */
test("scores the change of the balance by the pod; until 1.35 the balance with the pod", () => {
  // 50 + (50 + 87 - 100) / 2 and 50 + (50 + 100 - 80) / 2
  assert.deepEqual(scores(newest, pod, nodes), { even: 68, mends: 85 });
  const old = nodeResourcesBalancedAllocation({ resources }, "1.35");
  assert.deepEqual(scores(old, pod, nodes), { even: 87, mends: 100 });
});

test("three resources: the standard deviation of their shares", () => {
  const three = [...resources, { name: "example.com/x", weight: 1 }];
  const plugin = nodeResourcesBalancedAllocation({ resources: three }, "1.35");
  const node = nodeInfo("n", { allocatable: { cpu: "4", memory: "1000", "example.com/x": "10" } });
  // 0.5, 0.25 and 0.3: mean 0.35, deviation 0.10801.
  assert.deepEqual(scores(plugin, asking({ cpu: "2", memory: "250", "example.com/x": "3" }), [node]), {
    n: 89,
  });
});

test("pods that ask for none of the resources are the same everywhere", () => {
  assert.equal(scores(newest, podOf(), nodes), undefined);
  assert.equal(scores(newest, asking({ "example.com/x": "1" }), nodes), undefined);
});
