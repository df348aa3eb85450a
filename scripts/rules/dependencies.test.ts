import assert from "node:assert/strict";
import { test } from "node:test";
import { dependencies, type Manifest } from "./dependencies.ts";
import { createSource } from "./source.ts";

const manifests: readonly Manifest[] = [
  { folder: "", name: "repository", dependencies: ["fast-check"] },
  { folder: "packages/a", name: "@dray/a", dependencies: ["@dray/b", "ws", "@types/ws"] },
  { folder: "packages/b", name: "@dray/b", dependencies: [] },
];

function problems(files: Readonly<Record<string, string>>): string[] {
  const sources = Object.entries(files).map(([path, text]) => createSource(path, text));
  return dependencies(sources, manifests).map(({ path, text }) => `${path} ${text}`);
}

/** Uses everything that the package names. */
const uses = { "packages/a/src/uses.ts": 'import "ws";\nexport * from "@dray/b/part";' };

test("an import that the nearest package.json does not name is found", () => {
  const path = "packages/a/src/a.ts";
  for (const code of [
    'import x from "yaml/parse";',
    'export { x } from "yaml";',
    'const x = import("yaml");',
    'type X = import("yaml").X;',
  ])
    assert.deepEqual(
      problems({ ...uses, [path]: code }),
      [`${path} imports yaml, which packages/a/package.json does not name`],
      code,
    );
});

test("a dependency that nothing imports is found", () => {
  assert.deepEqual(problems({ "packages/a/src/a.ts": 'import "@dray/b";' }), [
    "packages/a/package.json names ws, which no file below it imports",
    "packages/a/package.json names @types/ws, which no file below it imports",
  ]);
});

test("dependencies of the repository's package.json are for tests only", () => {
  const code = 'import "fast-check";';
  assert.deepEqual(problems({ ...uses, "packages/a/src/a.test.ts": code }), []);
  assert.equal(problems({ ...uses, "packages/a/src/a.ts": code }).length, 1);
});

test("Node's modules, the package itself, own files and strings are not dependencies", () => {
  const code = 'import "node:fs";\nimport "@dray/a";\nimport "./b.ts";\nexport const text = \'import("x")\';';
  assert.deepEqual(problems({ ...uses, "packages/a/src/a.ts": code }), []);
});

test("files outside of packages import the packages of the workspace", () => {
  assert.deepEqual(problems({ ...uses, "bench/a.ts": 'import "@dray/a";' }), []);
  assert.equal(problems({ ...uses, "bench/a.ts": 'import "yaml";' }).length, 1);
});
