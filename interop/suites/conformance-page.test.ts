import assert from "node:assert/strict";
import { test } from "node:test";
import { conformancePage } from "./conformance-page.ts";

const run = { commit: "abc", kubernetes: "1.37.1", known: [], strange: [] };
const spec = (name: string, seconds: number, failure?: string) => ({
  name,
  seconds,
  ...(failure && { failure }),
});

test("a run fills its column, and leaves the others as they were", () => {
  const first = conformancePage("", {
    ...run,
    kind: "conformance-peer",
    result: {
      specs: [spec("[b] a | pipe", 1), spec("[a] one", 2, "of the machine")],
      skipped: [],
      seconds: 9,
      memory: 99.6,
    },
    known: [{ spec: "[a] one", cause: "environment", reason: "no swap" }],
    strange: [{ component: "kubelet", line: "a.go] lost", count: 2 }],
  });
  assert.match(
    first,
    /\| `conformance-peer` \| Kubernetes \| abc \| 1\.37\.1 \| 1 of 2 \| 1 \| 9 s \| 100 MiB \|/,
  );
  assert.match(first, /- `conformance-peer`: \[a\] one: environment: no swap/);
  assert.match(first, /\n\* `conformance-peer`: kubelet, 2 times: `a\.go\] lost`\n/);
  const second = conformancePage(first, {
    ...run,
    kind: "conformance",
    result: { specs: [spec("[b] a | pipe", 3), spec("[c] new", 4)], skipped: [], seconds: 8 },
  });
  assert.match(
    second,
    /\| \[a\] one \| {2}\| {2}\| \*\*failed\*\* 2\.0 \|\n\| \[b\] a \\\| pipe \| 3\.0 \| {2}\| 1\.0 \|\n\| \[c\] new \| 4\.0 \| {2}\| {2}\|\n/,
  );
  assert.match(second, /- `conformance-peer`: \[a\] one: environment: no swap/);
  assert.match(second, /\n\* `conformance-peer`: kubelet, 2 times: `a\.go\] lost`\n/);
  const again = conformancePage(second, {
    ...run,
    kind: "conformance",
    result: { specs: [spec("[c] new", 5)], skipped: [], seconds: 7 },
  });
  assert.match(again, /\| \[b\] a \\\| pipe \| {2}\| {2}\| 1\.0 \|\n\| \[c\] new \| 5\.0 \|/);
  assert.equal(again.match(/`conformance`/g)?.length, 1);
});

test("a failure with the same reason in several kinds of clusters is one line", () => {
  const failing = { specs: [spec("[a] one", 2, "of the machine")], skipped: [], seconds: 9 };
  const known = [{ spec: "[a] one", cause: "environment", reason: "no swap" } as const];
  const first = conformancePage("", { ...run, kind: "conformance-peer", result: failing, known });
  const second = conformancePage(first, { ...run, kind: "conformance", result: failing, known });
  assert.match(second, /\n- `conformance`, `conformance-peer`: \[a\] one: environment: no swap\n/);
  const third = conformancePage(second, {
    ...run,
    kind: "conformance",
    result: { specs: [spec("[a] one", 2)], skipped: [], seconds: 9 },
  });
  assert.match(third, /\n- `conformance-peer`: \[a\] one: environment: no swap\n/);
});
