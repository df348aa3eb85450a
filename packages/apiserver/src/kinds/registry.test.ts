import assert from "node:assert/strict";
import { test } from "node:test";
import { kindRows } from "@dray/api/schema";
import * as list from "./list.ts";
import { servedKind } from "./registry.ts";

test("each definition is of a kind of the schema, and found by its group and kind", () => {
  for (const served of Object.values(list)) {
    const { group, kind, resource } = served.type;
    assert.ok(
      kindRows.some((row) => row.group === group && row.kind === kind && row.resource === resource),
      `${group}/${kind}`,
    );
    assert.equal(servedKind({ group, kind }), served, `${group}/${kind}`);
  }
});

test("every kind of the schema is defined, but those that only subresources and documents speak", () => {
  const missing = kindRows.filter((row) => servedKind(row) === undefined).map(({ kind }) => kind);
  assert.deepEqual([...new Set(missing)].sort(), [
    "Eviction",
    "PartialObjectMetadata",
    "RangeAllocation",
    "TokenRequest",
  ]);
});

test("versions that are deprecated or not served are versions of their kind", () => {
  for (const { type, facts } of Object.values(list)) {
    for (const version of [...Object.keys(facts?.deprecated ?? {}), ...(facts?.unserved ?? [])]) {
      const known = kindRows.some(
        (row) => row.group === type.group && row.kind === type.kind && row.version === version,
      );
      assert.ok(known, `${type.kind} ${version}`);
    }
  }
});
