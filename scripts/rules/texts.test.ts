import assert from "node:assert/strict";
import { test } from "node:test";
import { createSource } from "./source.ts";
import { texts } from "./texts.ts";

const linesOf = (text: string, path = "packages/a/src/a.ts"): unknown[] =>
  texts([createSource(path, text)]).map(({ line }) => line);

test("finds names of functions in texts, of the file's own and of imported ones", () => {
  const imports = 'import { isSidecar } from "./b.ts";\n';
  assert.deepEqual(linesOf(`${imports}f("non-isSidecar init containers are immutable");`), [2]);
  assert.deepEqual(linesOf(`${imports}f("only init or isSidecar containers");`), [2]);
  assert.deepEqual(
    linesOf(`function expandAliases() {}\nf(\`its aliases expandAliases to more than \${a} values\`);`),
    [2],
  );
  assert.deepEqual(
    linesOf('const isFree = () => true;\nclass A { isUsed() {} }\nf("isFree, isUsed");'),
    [3, 3],
  );
});

test("single words, fields, quoted names, calls, paths and tests are not texts with a function", () => {
  const declared = "function isSidecar() {}\n";
  for (const text of [
    'f("isSidecar");',
    'f("the field restartPolicy");',
    "f('call isSidecar() before');",
    "f('the name \"isSidecar\" of it');",
    "f('spec.isSidecar is set');",
    "f('isSidecar.x is set');",
  ])
    assert.deepEqual(linesOf(declared + text), [], text);
  const text = `${declared}f("an isSidecar container");`;
  assert.deepEqual(linesOf(text, "packages/a/src/a.test.ts"), []);
  assert.deepEqual(linesOf(text, "bench/a.ts"), []);
});
