import assert from "node:assert/strict";
import { test } from "node:test";
import type { Rejection } from "./framework.ts";
import { diagnosisText, preemptionText } from "./message.ts";

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
    diagnosisText(diagnosis, ["still not schedulable", ...preemptionText(diagnosis)]),
    "0/4 nodes are available: 1 node(s) had untolerated taint(s), 3 cannot allocate all claims. " +
      "still not schedulable, preemption: 0/4 nodes are available: 4 Preemption is not helpful for scheduling.",
  );
});

test("nodes where other pods are in the way are told apart", () => {
  const rejections = new Map([
    ["a", because("Insufficient cpu", true)],
    ["b", because("Insufficient cpu", false)],
  ]);
  assert.deepEqual(preemptionText({ nodes: 2, rejections }), [
    "preemption: 0/2 nodes are available: 1 No preemption victims found for incoming pod, 1 Preemption is not helpful for scheduling.",
  ]);
});

test("a reason that holds for all nodes is not counted", () => {
  const diagnosis = { nodes: 3, rejections: new Map(), upfront: because("resourceclaim in use") };
  assert.equal(diagnosisText(diagnosis, []), "0/3 nodes are available: resourceclaim in use.");
  assert.match(preemptionText(diagnosis)[0]!, /: 3 Preemption is not helpful for scheduling\.$/);
});

test("without nodes there is nothing to count", () => {
  const diagnosis = { nodes: 0, rejections: new Map() };
  assert.equal(diagnosisText(diagnosis, preemptionText(diagnosis)), "no nodes available to schedule pods");
});
