import assert from "node:assert/strict";
import { test } from "node:test";
import { type SuiteRun, suiteSection } from "./suite-section.ts";

const run = (kind: SuiteRun["kind"], more: Partial<SuiteRun> = {}): SuiteRun => ({
  kind,
  commit: "abc",
  kubernetes: "1.37.1",
  result: { specs: [{ name: "a", seconds: 1 }], skipped: [], seconds: 61.4 },
  known: [],
  ...more,
});

test("each kind of nodes has a row, which only a run of that kind replaces", () => {
  const first = suiteSection("", run("dra-oci"));
  const second = suiteSection(first, run("dra", { commit: "def" }));
  const third = suiteSection(second, run("dra-oci", { commit: "123" }));
  const rows = third.split("\n").filter((line) => line.startsWith("| `dra"));
  assert.deepEqual(rows, [
    "| `dra` | def | 1.37.1 | kubelet, containerd | 1 of 1 | 0 | 0 | 61 s |",
    "| `dra-oci` | 123 | 1.37.1 | `dray up --runtime oci` | 1 of 1 | 0 | 0 | 61 s |",
  ]);
  assert.match(third, /No spec fails/);
});

test("each failure has its reason, until a run of that kind passes", () => {
  const result = {
    specs: [
      { name: "a", seconds: 1 },
      { name: "b", seconds: 1, failure: "no" },
    ],
    skipped: [{ name: "c", reason: "3 nodes" }],
    seconds: 61.4,
  };
  const known = [{ spec: "b", cause: "dray", reason: "not yet" }] as const;
  const failed = suiteSection("", run("dra-cri", { result, known }));
  assert.match(failed, /\| 1 of 2 \| 1 \| 1 \| 61 s \|/);
  assert.match(
    failed,
    /- `dra-cri`: b: fails \(dray\): not yet\n- `dra-cri`: c: left out by the suite: 3 nodes/,
  );
  assert.match(suiteSection(failed, run("dra")), /- `dra-cri`: b: fails/);
  assert.doesNotMatch(suiteSection(failed, run("dra-cri")), /fails \(/);
});
