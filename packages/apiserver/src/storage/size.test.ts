import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeObject } from "@dray/api";
import { checkSize, isTooLarge } from "./size.ts";

const object = (rest: object, metadata: object = {}): KubeObject =>
  ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "o", ...metadata }, ...rest }) as KubeObject;
const map = (count: number, value: string, key = "k"): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`${key}${index}`, value]));

function fits(one: KubeObject): boolean {
  try {
    checkSize("/registry/configmaps/default/o", one, JSON.stringify(one));
    return true;
  } catch {
    return false;
  }
}

/** Returns the minimum number of entries, give or take one, at which `isTooLarge` rejects an object. */
function minRejectedCount(make: (count: number) => KubeObject, storedAsJSON: boolean): number {
  let [low, high] = [0, 60_000];
  assert.ok(isTooLarge(make(high), storedAsJSON));
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (isTooLarge(make(middle), storedAsJSON)) high = middle;
    else low = middle;
  }
  return high;
}

const long = "v".repeat(50);
const custom = (rest: object): KubeObject =>
  ({ ...object(rest), apiVersion: "example.com/v1", kind: "Thing" }) as KubeObject;

test("an object that the early check rejects is too large to be stored", () => {
  const makers: readonly (readonly [(count: number) => KubeObject, boolean])[] = [
    [(count) => object({ data: map(count, long) }), false],
    [(count) => object({ data: map(count, "", "k".repeat(40)) }), false],
    [(count) => object({ binaryData: map(count, "YQ==", "k".repeat(40)) }), false],
    [(count) => ({ ...object({ data: map(count, `${"YWJj".repeat(20)}YWI=`) }), kind: "Secret" }), false],
    [(count) => object({}, { labels: map(count, "é".repeat(30)) }), false],
    [(count) => custom({ spec: map(count, "", "k".repeat(40)) }), true],
    [(count) => custom({ spec: Array.from({ length: count }, () => Array(20).fill(0)) }), true],
    [(count) => custom({ spec: Array.from({ length: count }, () => Array(20).fill([])) }), true],
  ];
  for (const [index, [make, storedAsJSON]] of makers.entries()) {
    const least = make(minRejectedCount(make, storedAsJSON));
    assert.ok(!fits(least), `the object of maker ${index} fits`);
  }
});

test("parts that may be removed before storing do not count", () => {
  const large = map(30_000, long);
  assert.ok(isTooLarge(object({ data: large }), false));
  assert.ok(!isTooLarge(object({ status: large, unknown: large }), false));
  assert.ok(!isTooLarge(object({}, { managedFields: [{ fieldsV1: large }] }), false));
  assert.ok(isTooLarge(custom({ spec: large }), true));
  assert.ok(!isTooLarge(custom({ status: large }), true));
});
