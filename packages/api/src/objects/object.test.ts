import assert from "node:assert/strict";
import { test } from "node:test";
import { controllerOf, generatedName, microTimeText, timeText } from "../index.ts";

test("a generated name has room for its suffix in 63 characters", () => {
  assert.equal(generatedName("web-", "abcde"), "web-abcde");
  assert.equal(generatedName("x".repeat(80), "abcde"), `${"x".repeat(58)}abcde`);
});

test("times are RFC 3339 in UTC", () => {
  const at = Date.parse("2026-01-31T08:09:10.987Z");
  assert.equal(timeText(at), "2026-01-31T08:09:10Z");
  assert.equal(microTimeText(at), "2026-01-31T08:09:10.987000Z");
});

test("the controller is the first owner that manages the object", () => {
  const owner = (uid: string, controller?: boolean) => ({
    apiVersion: "v1",
    kind: "Pod",
    name: uid,
    uid,
    ...(controller !== undefined && { controller }),
  });
  const of = (...ownerReferences: ReturnType<typeof owner>[]) =>
    controllerOf({ metadata: { ownerReferences } })?.uid;
  assert.equal(controllerOf({ metadata: {} }), undefined);
  assert.equal(of(owner("a"), owner("b", false)), undefined);
  assert.equal(of(owner("a"), owner("b", true), owner("c", true)), "b");
});
