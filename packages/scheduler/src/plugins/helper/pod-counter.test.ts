import assert from "node:assert/strict";
import { test } from "node:test";
import { nodeInfo, podOf } from "../testing/plugins.ts";
import { PodCounter } from "./pod-counter.ts";

test("pods of a node are counted again only after it has changed", () => {
  const counter = new PodCounter();
  let tests = 0;
  const isA = ({ metadata }: ReturnType<typeof podOf>): boolean => {
    tests++;
    return metadata.labels?.["app"] === "a";
  };
  const pods = ["a", "a", "b"].map((app) => podOf({ labels: { app } }));
  const nodes = [nodeInfo("x", { pods }), nodeInfo("y", { pods: [podOf({ labels: { app: "a" } })] })];
  const counts = (key: string | undefined): number[] => {
    const count = counter.counting(key, nodes.length, isA);
    return nodes.map(count);
  };
  assert.deepEqual([counts("a"), tests], [[2, 1], 4]);
  assert.deepEqual([counts("a"), tests], [[2, 1], 4]);
  nodes[1]!.remove([...nodes[1]!.pods.keys()][0]!);
  nodes[1]!.add(podOf({ labels: { app: "a" } }));
  nodes[1]!.add(podOf({ labels: { app: "a" } }));
  assert.deepEqual([counts("a"), tests], [[2, 2], 6]);
  // Without a key nothing is kept.
  assert.deepEqual([counts(undefined), tests], [[2, 2], 11]);
});

test("evicts counts of removed nodes and of unused tests", () => {
  const counter = new PodCounter();
  let tests = 0;
  const any = (): boolean => {
    tests++;
    return true;
  };
  const nodes = Array.from({ length: 5 }, (_, i) => nodeInfo(`n${i}`, { pods: [podOf()] }));
  const first = counter.counting("k", 5, any);
  for (const node of nodes) first(node);
  // Two are left: five counts are too many.
  const later = counter.counting("k", 2, any);
  assert.deepEqual([nodes.slice(0, 2).map(later), tests], [[1, 1], 7]);
  for (let i = 0; i < 64; i++) counter.counting(`k${i}`, 2, any)(nodes[0]!);
  tests = 0;
  counter.counting("k", 2, any)(nodes[0]!);
  assert.equal(tests, 1);
});
