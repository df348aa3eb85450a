import assert from "node:assert/strict";
import { test } from "node:test";
import { failures } from "./log-lines.ts";
import { type SideResult, verdict } from "./report.ts";

const line = (text: string) => `E1121 10:12:52.123456   26462 a.go:1] ${text}\n`;

const result = (side: "dray" | "peer", log: string, more: Partial<SideResult> = {}): SideResult => ({
  side,
  outcomes: [{ name: "one", seconds: 1 }],
  rounds: 1,
  seconds: 1,
  lines: new Map([["kube-scheduler", failures(log)]]),
  trouble: [],
  ...more,
});

test("a line of Dray alone fails the run, and is reported", () => {
  const { text, passed } = verdict(
    [result("peer", line("a")), result("dray", line("a") + line("b"))],
    new Map(),
  );
  assert.equal(passed, false);
  assert.match(text, /only on dray: kube-scheduler: 1 x E a\.go\] b/);
});

test("a line that kube-apiserver logs in the same run or logged before is not a difference", () => {
  const known = new Map([["kube-scheduler", ["E a.go] b"]]]);
  const results = [result("peer", line("a")), result("dray", line("a") + line("b"))];
  assert.equal(verdict(results, known).passed, true);
  assert.equal(verdict(results.slice(1), known).passed, false);
});

test("a failed scenario on either side and a rejected request of a node fail the run", () => {
  const bad = { outcomes: [{ name: "one", seconds: 1, failure: "no" }] };
  assert.equal(verdict([result("peer", ""), result("dray", "", bad)], new Map()).passed, false);
  assert.equal(verdict([result("peer", "", bad), result("dray", "")], new Map()).passed, false);
  assert.equal(
    verdict([result("peer", ""), result("dray", "", { trouble: ["no"] })], new Map()).passed,
    false,
  );
  assert.equal(verdict([result("peer", ""), result("dray", "")], new Map()).passed, true);
});
