import assert from "node:assert/strict";
import { test } from "node:test";
import type { PolicyRule } from "@dray/api/rbac/v1";
import { ruleAllows, uncovered } from "./rules.ts";

const rule = (more: Partial<PolicyRule>): PolicyRule => ({
  verbs: ["get"],
  apiGroups: ["g"],
  resources: ["r"],
  ...more,
});
const isCovered = (held: Partial<PolicyRule>, required: Partial<PolicyRule>): boolean =>
  uncovered([rule(held)], [rule(required)]).length === 0;

test("a rule covers what it grants", () => {
  assert.ok(isCovered({}, {}));
  assert.ok(isCovered({ verbs: ["*"], apiGroups: ["*"], resources: ["*"] }, { resources: ["r/status"] }));
  assert.ok(!isCovered({}, { verbs: ["get", "list"] }));
  assert.ok(!isCovered({}, { verbs: ["*"] }));
  assert.ok(!isCovered({}, { resources: ["r/status"] }));
  assert.ok(isCovered({ resources: ["*/status"] }, { resources: ["r/status"] }));
  assert.ok(!isCovered({ resources: ["*/status"] }, { resources: ["r"] }));
  assert.ok(isCovered({}, { resourceNames: ["a"] }));
  assert.ok(isCovered({ resourceNames: ["a", "b"] }, { resourceNames: ["b"] }));
  assert.ok(!isCovered({ resourceNames: ["a"] }, { resourceNames: ["a", "b"] }));
  assert.ok(!isCovered({ resourceNames: ["a"] }, {}));
});

test("a rule covers URLs by their beginning", () => {
  const urls = (held: string[], required: string[]): boolean =>
    uncovered([{ verbs: ["get"], nonResourceURLs: held }], [{ verbs: ["get"], nonResourceURLs: required }])
      .length === 0;
  assert.ok(urls(["/a"], ["/a"]));
  assert.ok(!urls(["/a"], ["/a/b"]));
  assert.ok(urls(["/x", "/a/*"], ["/a/b", "/a/", "/x"]));
  assert.ok(!urls(["/a/*"], ["/a"]));
  assert.ok(urls(["*"], ["/a", "*"]));
  assert.ok(urls(["/a**"], ["/ab"]));
});

/** A list that counts how often its elements are read. */
function counted(count: number, reads: { count: number }): string[] {
  const names = Array.from({ length: count }, (_, index) => `n${index}`);
  return new Proxy(names, {
    get(target, key, receiver) {
      if (typeof key === "string" && /^\d/.test(key)) reads.count++;
      return Reflect.get(target, key, receiver) as unknown;
    },
  });
}

test("long rules are compared without looking at all pairs", () => {
  const reads = { count: 0 };
  const held = [rule({ resourceNames: counted(2_000, reads) })];
  const required = Array.from({ length: 2_000 }, (_, index) => `n${index}`);
  assert.deepEqual(uncovered(held, [rule({ resourceNames: required })]), []);
  assert.ok(reads.count <= 2_000, `${reads.count} reads`);
});

test("stars within a URL are not looked at again and again", () => {
  const url = `${"*".repeat(200_000)}a*`;
  const attributes = { verb: "get", isResource: false, path: `${url.slice(0, -1)}b` } as never;
  assert.ok(ruleAllows({ verbs: ["get"], nonResourceURLs: [url] }, attributes));
});
