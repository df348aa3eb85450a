import assert from "node:assert/strict";
import { test } from "node:test";
import type { Node } from "@dray/api/core/v1";
import { partial } from "@dray/testing/partial";
import { SchedulerCache } from "./cache.ts";

function nodeOf(name: string, zone?: string, label = "topology.kubernetes.io/zone"): Node {
  const labels = zone === undefined ? {} : { [label]: zone, "topology.kubernetes.io/region": "r" };
  return partial<Node>({ metadata: { name, labels }, spec: {}, status: {} });
}

test("nodes come from one zone after the other, and follow a node that moves", () => {
  const cache = new SchedulerCache("1.37");
  const names = (): string[] => cache.nodes.map(({ name }) => name);
  assert.deepEqual(names(), []);
  for (const node of [
    nodeOf("a1", "a"),
    nodeOf("a2", "a"),
    nodeOf("a3", "a"),
    nodeOf("b1", "b"),
    nodeOf("x"),
  ])
    cache.setNode(node);
  assert.deepEqual(names(), ["a1", "b1", "x", "a2", "a3"]);
  // The older label counts where the newer is missing.
  cache.setNode(nodeOf("a2", "b", "failure-domain.beta.kubernetes.io/zone"));
  assert.deepEqual(names(), ["a1", "a2", "x", "a3", "b1"]);
  cache.removeNode("x");
  assert.deepEqual(names(), ["a1", "a2", "a3", "b1"]);
});
