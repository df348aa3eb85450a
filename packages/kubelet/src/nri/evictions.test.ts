import assert from "node:assert/strict";
import { test } from "node:test";
import { problemLog } from "@dray/testing/log";
import { warnOfEvictions } from "./evictions.ts";

test("many evictions of long reasons are one short line", () => {
  const { log, problems: lines } = problemLog();
  warnOfEvictions(log, [], "00-p");
  assert.equal(lines.length, 0);
  const one = { containerId: "c", reason: "r".repeat(100_000) };
  warnOfEvictions(
    log,
    Array.from({ length: 1000 }, () => one),
    "00-p",
  );
  assert.equal(lines.length, 1);
  assert.ok(JSON.stringify(lines).length < 2000);
  assert.match(JSON.stringify(lines), /evictions\W+1000/);
});
