import assert from "node:assert/strict";
import { test } from "node:test";
import { deadExports } from "./dead-exports.ts";
import { createSource } from "./source.ts";

/** Names of dead exports, with their files. */
function dead(files: Readonly<Record<string, string>>, entryPoints: readonly string[] = []): string[] {
  const sources = Object.entries(files).map(([path, text]) => createSource(path, text));
  return deadExports(sources, new Set(entryPoints)).map(
    ({ path, line, text }) => `${path}:${line} ${/imports (\w+):/.exec(text)?.[1]}`,
  );
}

test("an export that nothing imports is found, with its line", () => {
  assert.deepEqual(
    dead({
      "a.ts": "export const used = 1;\nexport const unused = 2;\nexport default 3;",
      "b.ts": 'import { used } from "./a.ts";\nconsole.log(used);',
    }),
    ["a.ts:2 unused", "a.ts:3 default"],
  );
});

test("an export of an entry point counts as used, also from another file", () => {
  const files = {
    "index.ts": 'export { a } from "./a.ts";\nexport * from "./b.ts";',
    "a.ts": "export const a = 1;\nexport const c = 2;",
    "b.ts": "export const b = 1;",
  };
  assert.deepEqual(dead(files, ["index.ts"]), ["a.ts:2 c"]);
});

test("a re-export counts as a use only if a file imports it", () => {
  const files = {
    "room/index.ts": 'export { a, b as c } from "./a.ts";\nexport * as all from "./all.ts";',
    "room/a.ts": "export const a = 1;\nexport const b = 2;",
    "room/all.ts": "export const d = 1;",
    "user.ts": 'import { all, c } from "./room/index.ts";\nconsole.log(all, c);',
  };
  assert.deepEqual(dead(files), ["room/index.ts:1 a", "room/a.ts:1 a"]);
});

test("a namespace, a dynamic import and a type of an import use everything", () => {
  for (const user of [
    'import * as a from "./a.ts";\nconsole.log(a);',
    'console.log(await import("./a.ts"));',
    'let a: typeof import("./a.ts") | undefined;\nconsole.log(a);',
  ])
    assert.deepEqual(dead({ "a.ts": "export const a = 1;", "b.ts": user }), [], user);
});

test("a type may be exported for the signature of another export", () => {
  const text = "export interface Options { a: 1 }\nexport interface Other { b: 1 }\n";
  assert.deepEqual(
    dead({
      "a.ts": `${text}export const run = (options: Options) => options;`,
      "b.ts": 'import { run } from "./a.ts";\nrun({ a: 1 });',
    }),
    ["a.ts:2 Other"],
  );
});

test("generated files import, and may export what nothing imports", () => {
  const files = {
    "src/generated/a.ts": 'import { a } from "../a.ts";\nexport const b = a;',
    "src/a.ts": "export const a = 1;",
  };
  assert.deepEqual(dead(files), []);
});
