import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "@dray/testing/folder";
import { readRecord, writeRecord } from "./records.ts";

test("a record round-trips; one that a power failure emptied reads as absent", (t) => {
  const folder = temporaryFolder(t);
  const path = join(folder, "sandbox.json");
  assert.equal(readRecord(folder, "sandbox.json"), undefined);
  writeRecord(path, JSON.stringify({ id: "a" }));
  assert.deepEqual(readRecord(folder, "sandbox.json"), { id: "a" });
  for (const left of ["", "\0".repeat(100)]) {
    writeFileSync(path, left);
    assert.equal(readRecord(folder, "sandbox.json"), undefined);
  }
  writeFileSync(path, '{"id":');
  assert.throws(
    () => readRecord(folder, "sandbox.json"),
    new RegExp(`^Error: ${path} is damaged: .*; remove it`),
  );
});
