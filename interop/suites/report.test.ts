import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { complaints, type KnownFailure, readKnownFailures, readReport, summary } from "./report.ts";

const spec = (name: string, State: string, more: object = {}) => ({
  ContainerHierarchyTexts: ["[sig-node] [DRA]", "kubelet"],
  LeafNodeType: "It",
  LeafNodeText: name,
  State,
  RunTime: 1.5e9,
  ...more,
});
const report = (...SpecReports: object[]): string => JSON.stringify([{ SpecReports }]);
const known = (name: string): KnownFailure => ({ spec: name, cause: "dray", reason: "no reason" });

test("of a report only the specs that were run count, and what failed around them", () => {
  const { specs, skipped } = readReport(
    report(
      { ...spec("", "passed"), LeafNodeType: "SynchronizedBeforeSuite", ContainerHierarchyTexts: null },
      { ...spec("", "failed"), LeafNodeType: "ReportAfterSuite", ContainerHierarchyTexts: null },
      spec("a", "passed"),
      spec("b", "timedout", { Failure: { Message: "not\n  within 5m" } }),
      spec("c", "panicked"),
      spec("of another label", "skipped"),
      spec("d", "skipped", { Failure: { Message: "2 ready nodes required" } }),
    ),
  );
  assert.deepEqual(specs, [
    { name: "ReportAfterSuite", seconds: 1.5, failure: "failed" },
    { name: "[sig-node] [DRA] kubelet a", seconds: 1.5 },
    { name: "[sig-node] [DRA] kubelet b", seconds: 1.5, failure: "not within 5m" },
    { name: "[sig-node] [DRA] kubelet c", seconds: 1.5, failure: "panicked" },
  ]);
  assert.deepEqual(skipped, [{ name: "[sig-node] [DRA] kubelet d", reason: "2 ready nodes required" }]);
});

test("a run is as expected if just the listed specs fail", () => {
  const specs = [
    { name: "a", seconds: 1 },
    { name: "b", seconds: 1, failure: "no" },
  ];
  assert.deepEqual(complaints({ specs }, [known("b")], false), []);
  assert.deepEqual(complaints({ specs }, [], false), ["failed, and is not listed: b: no"]);
});

test("the list only shrinks: a listed spec that passes or is gone fails the run", () => {
  const specs = [{ name: "a", seconds: 1 }];
  assert.deepEqual(complaints({ specs }, [known("a")], false), ["passed: take it out of the list: a"]);
  assert.deepEqual(complaints({ specs }, [known("b")], false), ["was not run: take it out of the list: b"]);
  assert.deepEqual(complaints({ specs }, [known("b")], true), []);
});

test("an entry of the list that lacks a field or has another cause is refused by its place", () => {
  const good = { spec: "a", cause: "environment", reason: "one node" };
  const read = (...entries: object[]) => readKnownFailures(JSON.stringify(entries));
  assert.deepEqual(read(good), [good]);
  assert.throws(() => read(good, { ...good, cause: "weather" }), /\[1\]\.cause: "weather": must be dray or/);
  assert.throws(() => read({ ...good, reason: "" }), /\[0\]\.reason: must say why/);
  assert.throws(() => read({ cause: "dray", reason: "b" }), /\[0\]\.spec: must be the name/);
  assert.throws(() => readKnownFailures("spec: a"), /must be a list/);
  for (const list of ["dra", "conformance"])
    readKnownFailures(
      readFileSync(join(import.meta.dirname, "..", `${list}-expected-failures.yaml`), "utf8"),
    );
});

test("the summary counts what passed, failed, is listed and was left out", () => {
  const result = {
    specs: [
      { name: "a", seconds: 1 },
      { name: "b", seconds: 1, failure: "no" },
    ],
    skipped: [{ name: "c", reason: "3 nodes" }],
    seconds: 61.4,
  };
  assert.match(
    summary(result, [known("b")]),
    /^1 of 2 specs passed, 1 failed, 1 are listed to fail, 1 left out/,
  );
});
