import assert from "node:assert/strict";
import { test } from "node:test";
import { tolerates } from "./node-fit.ts";

/** Upstream: k8s.io/api/core/v1/toleration.go, ToleratesTaint (KEP-5471) */
test("a toleration compares numbers that are written plainly, and tolerates nothing else with Lt and Gt", () => {
  const cases: [operator: string, value: string, taint: string, expected: boolean][] = [
    ["Lt", "100", "99", true],
    ["Lt", "100", "100", false],
    ["Gt", "100", "101", true],
    ["Gt", "100", "100", false],
    ["Gt", "-5", "-4", true],
    ["Gt", "9007199254740993", "9007199254740994", true],
    ["Gt", "1", "9223372036854775808", false],
    ["Lt", "100", "099", false],
    ["Lt", "100", "-0", false],
    ["Lt", "100", "", false],
    ["Lt", "many", "1", false],
    ["Near", "1", "1", false],
    ["Equal", "1", "1", true],
    ["", "1", "1", true],
    ["Exists", "", "1", true],
  ];
  for (const [operator, value, taint, expected] of cases) {
    const toleration = { key: "k", operator, value };
    const found = tolerates(toleration, { key: "k", value: taint, effect: "NoSchedule" });
    assert.equal(found, expected, `${operator} ${value} of ${taint}`);
  }
});
