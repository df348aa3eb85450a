import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { apiVersionOf } from "@dray/api";
import { kindRows } from "@dray/api/schema";
import { temporaryFolder } from "@dray/testing/folder";
import { missingModules } from "../testing/upstream.ts";
import { servedKind } from "./registry.ts";

const origin = join(import.meta.dirname, "../../../api/scripts/origin");

test("versions are deprecated and removed by their upstream lifecycle", {
  skip: missingModules("k8s.io/api@v0.37.2"),
}, (t) => {
  const rows = kindRows.flatMap((row): [string, object][] => {
    const facts = servedKind(row)?.facts;
    if (facts === undefined || facts.unserved?.includes(row.version)) return [];
    const { since, gone } = facts.deprecated?.[row.version] ?? {};
    return [[`${apiVersionOf(row)} ${row.kind}`, { since, gone }]];
  });
  const file = join(temporaryFolder(t), "deprecations.json");
  writeFileSync(file, JSON.stringify(Object.fromEntries(rows)));
  const { status, stderr } = spawnSync("go", ["run", ".", "-deprecations", file], {
    cwd: origin,
    encoding: "utf8",
  });
  assert.equal(status, 0, stderr);
});
