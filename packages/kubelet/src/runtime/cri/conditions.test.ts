import assert from "node:assert/strict";
import { test } from "node:test";
import { type RuntimeCondition, runtimeProblems } from "./conditions.ts";

const condition = (type: string, status: boolean, reason = "", message = ""): RuntimeCondition => ({
  type,
  status,
  reason,
  message,
});
const ready = condition("RuntimeReady", true);
const networkDown = condition(
  "NetworkReady",
  false,
  "NetworkPluginNotReady",
  "Network plugin returns error: cni plugin not initialized",
);

test("conditions that are not met are reported in the words of the kubelet", () => {
  assert.deepEqual(runtimeProblems([ready, condition("NetworkReady", true)]), []);
  assert.deepEqual(runtimeProblems([networkDown, ready, condition("Other", false)]), [
    "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized",
  ]);
  assert.deepEqual(runtimeProblems([condition("RuntimeReady", false, "Down", "x")]), [
    "container runtime not ready: RuntimeReady=false reason:Down message:x",
    "container runtime network not ready: <nil>",
  ]);
});
