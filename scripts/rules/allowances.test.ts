import assert from "node:assert/strict";
import { test } from "node:test";
import { judge } from "./allowances.ts";

const findings = [
  { path: "a/b.ts", line: 3, text: "wrong" },
  { path: "a/b.ts", text: "long" },
];

test("a finding that nothing allows is a problem", () => {
  assert.deepEqual(judge("rule", findings, []), ["a/b.ts:3: wrong", "a/b.ts: long"]);
});

test("a file or a folder allows findings", () => {
  for (const path of ["a/b.ts", "a/"]) assert.deepEqual(judge("rule", findings, [{ path, reason: "x" }]), []);
  assert.equal(judge("rule", findings, [{ path: "a/b", reason: "x" }]).length, 3);
});

test("an allowance without findings is a problem", () => {
  const problems = judge("rule", [], [{ path: "a/", reason: "x" }]);
  assert.match(problems.join(), /rule, a\/: nothing is left to allow, remove the entry/);
});
