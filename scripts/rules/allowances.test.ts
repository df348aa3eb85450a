import assert from "node:assert/strict";
import { test } from "node:test";
import { judge } from "./allowances.ts";

const findings = [
  { path: "a/b.ts", line: 3, text: "wrong" },
  { path: "a/b.ts", text: "long" },
];

test("a finding that nothing allows is a problem", () => {
  assert.deepEqual(judge("rule", findings, [{ path: "a/c.ts", reason: "x" }]).problems, [
    "a/b.ts:3: wrong",
    "a/b.ts: long",
  ]);
});

test("a file or a folder allows findings, up to a count", () => {
  for (const path of ["a/b.ts", "a/"]) {
    const allowed = (count?: number) =>
      judge("rule", findings, [{ path, ...(count !== undefined && { count }), reason: "x" }]);
    assert.deepEqual(allowed(), { problems: [], notices: [] });
    assert.deepEqual(allowed(2), { problems: [], notices: [] });
    assert.equal(allowed(1).problems.length, 3);
    assert.match(allowed(3).notices.join(), /lower the count from 3 to 2/);
  }
});

test("an allowance without findings is reported", () => {
  assert.match(judge("rule", [], [{ path: "a/", reason: "x" }]).notices.join(), /remove the entry/);
});
