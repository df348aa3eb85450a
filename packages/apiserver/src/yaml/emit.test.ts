import assert from "node:assert/strict";
import { test } from "node:test";
import { encodeYAML } from "./emit.ts";

const lines = (...text: string[]): string => `${text.join("\n")}\n`;

test("keys are sorted, lists have the indentation of their key", () => {
  const object = { b: [{ z: 1, a: [["x"], []] }, "s"], a10: {}, a2: null, "": true };
  assert.equal(
    encodeYAML(object),
    lines('"": true', "a2: null", "a10: {}", "b:", "- a:", "  - - x", "  - []", "  z: 1", "- s"),
  );
});

test("texts that would resolve to another type are quoted", () => {
  const texts = ["yes", "08", "1_000", "12:30", "2001-12-14", ".5", "~", "", "a: b", "#", "- x", "x ", "\t"];
  assert.equal(
    encodeYAML({ texts }),
    lines(
      "texts:",
      '- "yes"',
      '- "08"',
      '- "1_000"',
      '- "12:30"',
      '- "2001-12-14"',
      '- ".5"',
      '- "~"',
      '- ""',
      "- 'a: b'",
      "- '#'",
      "- '- x'",
      "- 'x '",
      '- "\\t"',
    ),
  );
  assert.equal(encodeYAML({ text: "2001-02-30" }), "text: 2001-02-30\n");
});

test("lines are folded after column 80, at single blanks", () => {
  const message =
    "only the following media types are accepted: application/json;stream=watch, application/protobuf";
  assert.equal(
    encodeYAML({ message }),
    lines(
      "message: 'only the following media types are accepted: application/json;stream=watch,",
      "  application/protobuf'",
    ),
  );
});

test("multi-line texts are blocks, or quoted if blocks cannot represent them", () => {
  assert.equal(encodeYAML({ a: "x\n y\n" }), lines("a: |", "  x", "   y"));
  assert.equal(encodeYAML({ a: "x\n\n" }), lines("a: |+", "  x", ""));
  assert.equal(encodeYAML({ a: " x\ny" }), lines("a: |2-", "   x", "  y"));
  assert.equal(encodeYAML({ a: "x \ny" }), 'a: "x \\ny"\n');
});

test("long and multi-line keys begin with a question mark", () => {
  const key = "k".repeat(129);
  assert.equal(
    encodeYAML({ [key]: { a: 1 }, "x\ny": [1] }),
    lines(`? ${key}`, ": a: 1", "? |-", "  x", "  y", ": - 1"),
  );
});

test("numbers have the shortest form of Go", () => {
  assert.equal(
    encodeYAML({ a: 22591330.5, b: 1e-7, c: 2 ** 53, d: 0.5, e: 10n ** 18n }),
    lines("a: 2.25913305e+07", "b: 1e-07", "c: 9007199254740992", "d: 0.5", "e: 1000000000000000000"),
  );
});
