import assert from "node:assert/strict";
import { test } from "node:test";
import { encodeFieldSet } from "./canonical-sets.ts";
import { capManagers } from "./cap-managers.ts";
import { type FieldSet, union, unionAll } from "./field-set.ts";
import { decodeManaged, encodeManaged } from "./managed-fields.ts";

const entry = (index: number, apiVersion = "v1"): object => ({
  manager: `m${String(index).padStart(5, "0")}`,
  operation: "Update",
  apiVersion,
  time: new Date(Date.UTC(2026, 0, 1) + index * 1000).toISOString().replace(".000", ""),
  fieldsType: "FieldsV1",
  fieldsV1: { "f:data": { [`f:k${index}`]: {} } },
});
const capped = (entries: readonly object[]): readonly Record<string, unknown>[] =>
  encodeManaged(capManagers(decodeManaged(entries))) as readonly Record<string, unknown>[];

test("the oldest of many managers are merged into one with all their fields", () => {
  const entries = capped(Array.from({ length: 3000 }, (_, index) => entry(index)));
  assert.equal(entries.length, 10);
  const [bucket] = entries;
  assert.equal(bucket?.["manager"], "ancient-changes");
  const fields = bucket?.["fieldsV1"] as { "f:data": object };
  assert.equal(Object.keys(fields["f:data"]).length, 2991);
  assert.deepEqual(bucket?.["time"], (entry(2990) as { time: string }).time);
});

test("each version has a bucket of its own, and an existing one is extended", () => {
  const first = capped(Array.from({ length: 14 }, (_, index) => entry(index)));
  const again = capped([...first, entry(20), entry(21)]);
  assert.equal(again.length, 10);
  const fields = again[0]?.["fieldsV1"] as { "f:data": object };
  assert.deepEqual(Object.keys(fields["f:data"]).length, 7);
  const mixed = capped(
    Array.from({ length: 30 }, (_, index) => entry(index, index % 2 === 0 ? "v1" : "v1beta1")),
  );
  assert.equal(mixed.filter(({ manager }) => manager === "ancient-changes").length, 2);
});

test("the union of many sets equals their pairwise unions", () => {
  const sets: readonly FieldSet[] = [
    { "f:a": {}, "f:b": { "f:c": {} } },
    { "f:b": { ".": {}, "f:d": {} } },
    { "f:a": { "f:e": {} }, "f:b": {} },
    { 'k:{"name":"x"}': { ".": {}, "f:name": {} } },
    {},
  ];
  const joined = sets.reduce((one, other) => union(one, other));
  assert.deepEqual(encodeFieldSet(unionAll(sets)), encodeFieldSet(joined));
  assert.deepEqual(encodeFieldSet(unionAll([])), {});
});
