import assert from "node:assert/strict";
import { test } from "node:test";
import { counted, diagnosisText } from "./diagnosis.ts";
import type { Rejection } from "./framework.ts";

const because = (reason: string, resolvable = false): Rejection => ({
  plugin: "P",
  reasons: [reason],
  resolvable,
});

test("equal reasons are counted and the counted texts sorted", () => {
  const rejections = new Map([
    ["a", because("node(s) had untolerated taint(s)")],
    ["b", because("cannot allocate all claims")],
    ["c", because("cannot allocate all claims")],
    ["d", because("cannot allocate all claims")],
  ]);
  const diagnosis = { nodes: 4, rejections };
  assert.equal(
    diagnosisText(diagnosis, ["still not schedulable", "preemption: not eligible."]),
    "0/4 nodes are available: 1 node(s) had untolerated taint(s), 3 cannot allocate all claims. " +
      "still not schedulable, preemption: not eligible.",
  );
});

test("counted reasons are in the order of their texts, not of their numbers", () => {
  assert.equal(counted(["b", "a", ...Array<string>(10).fill("c")]), "1 a, 1 b, 10 c");
});

test("a reason that holds for all nodes is not counted", () => {
  const diagnosis = { nodes: 3, rejections: new Map(), upfront: because("resourceclaim in use") };
  assert.equal(diagnosisText(diagnosis, []), "0/3 nodes are available: resourceclaim in use.");
});

test("without nodes there is nothing to count", () => {
  assert.equal(diagnosisText({ nodes: 0, rejections: new Map() }, []), "no nodes available to schedule pods");
});
