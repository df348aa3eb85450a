import assert from "node:assert/strict";
import { test } from "node:test";
import { lineFinder, parseYAMLDocuments, YAMLError } from "./yaml.ts";

const text = `# a comment
apiVersion: v1
kind: Pod
metadata:
  name: p
  labels:
    example.com/a.b: x
    plain: y
spec:
  containers:
  - name: one
    image: i
  - image: |
      long
      text
    name: two
  tolerations: &all
  - {key: a,
     operator: Exists}
---
base: &base
  shared:
    deep: 1
own:
  <<: *base
  data: *base
  a.b: 1
  a: {b: {c: 2}}
`;

const cases: readonly [document: number, path: string, line: number | undefined][] = [
  [1, "", 2],
  [1, "metadata.name", 5],
  [1, "metadata.labels[example.com/a.b]", 7],
  [1, "metadata.labels.example.com/a.b", 7],
  [1, 'metadata.labels["plain"]', 8],
  [1, "spec.containers", 10],
  [1, "spec.containers[0].image", 12],
  [1, "spec.containers[1]", 13],
  [1, "spec.containers[1].name", 16],
  // Missing: the nearest above it.
  [1, "spec.containers[1].resources.limits", 13],
  [1, "spec.containers[7].name", 10],
  [1, "status.phase", 2],
  [1, "spec.tolerations[0].operator", 19],
  [2, "own.shared.deep", 23],
  [2, "own.data.shared.deep", 23],
  // A key with a dot in it before a key of its first part.
  [2, "own.a.b", 27],
  [2, "own.a.b.c", 27],
  [3, "", undefined],
];

test("a path is found in its line, and a missing one in that of the nearest value above it", () => {
  const lineOf = lineFinder(text);
  assert.deepEqual(
    cases.map(([document, path]) => [document, path, lineOf(document, path)]),
    cases,
  );
});

test("JSON has lines, too, and CRLF counts once", () => {
  const json = JSON.stringify({ items: [{ a: 1 }, { b: { c: [1, 2] } }] }, undefined, 2);
  assert.equal(lineFinder(json)(1, "items[1].b.c[1]"), 10);
  assert.equal(lineFinder(json.replaceAll("\n", "\r\n"))(1, "items[1].b.c[1]"), 10);
  assert.equal(lineFinder("\ufeffa: 1\nb: 2\n")(1, "b"), 2);
});

test("documents before a mistake have their lines, and the mistake knows its own", () => {
  const broken = "a: 1\n---\nb: 1\n---\nkind: [Pod\n";
  assert.equal(lineFinder(broken)(2, "b"), 3);
  assert.equal(lineFinder(broken)(3, "kind"), undefined);
  for (const [wrong, line] of [
    ["a: 1\nb: [\n", 3],
    ["a: 1\n  b: 2\n", 2],
    ["a: *none\n", 1],
    ["x: 1\ny: {a: b\nz: 1\n", 3],
    ["a: 1\nb: {{ x }}\n", 2],
    ["a: 1\n<<: 2\n", 2],
    ["a: &a\n  b: *a\n", 2],
  ] as const) {
    assert.throws(
      () => parseYAMLDocuments(wrong),
      (error) => error instanceof YAMLError && error.line === line,
      wrong,
    );
  }
});
