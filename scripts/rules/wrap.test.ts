import assert from "node:assert/strict";
import { test } from "node:test";
import { createSource } from "./source.ts";
import { wrapComments } from "./wrap.ts";

const wrap = (text: string): string => wrapComments(createSource("a.ts", text));
const words = (count: number): string => Array.from({ length: count }, () => "word").join(" ");

test("a wide comment of one line becomes a block, with the indent that it has", () => {
  assert.equal(
    wrap(`  /** ${words(24)} */\n  f();\n`),
    `  /**\n   * ${words(21)}\n   * ${words(3)}\n   */\n  f();\n`,
  );
});

test("of a block only wide paragraphs are filled; lists, tags and code keep their lines", () => {
  const kept = [` * ${words(2)}`, " *", " * - item", " * @see x", " * ```", ` * ${words(30)}`, " * ```"].join(
    "\n",
  );
  assert.equal(
    wrap(`/**\n * ${words(23)}\n * end\n *\n${kept}\n */\n`),
    `/**\n * ${words(21)}\n * ${words(2)} end\n *\n${kept}\n */\n`,
  );
});

test("lines with // that follow each other are filled together", () => {
  assert.equal(wrap(`  // ${words(22)}\n  // end\n  f();\n`), `  // ${words(21)}\n  // word end\n  f();\n`);
});

test("narrow comments and comments behind code stay", () => {
  for (const text of [`/** ${words(20)} */\n`, `f(); // ${words(30)}\n`, `// a\n// b\nf();\n`])
    assert.equal(wrap(text), text);
});
