import assert from "node:assert/strict";
import { test } from "node:test";
import { envFileValue } from "./env-file.ts";

const table: [text: string, expected: string][] = [
  ["KEY='val'", "val"],
  ["\n  # KEY='no'\n\tKEY='val' # why\n", "val"],
  ["A='1'\nKEY='two\nlines  '\n", "two\nlines  "],
  ["KEY='$(A) \\n'", "$(A) \\n"],
  ["KEY='a'\nKEY='b'", "a"],
  // As in a shell: what follows is another word.
  ["KEY= 'val'", ""],
  ["OTHER='1'", ""],
  ["KEY=''", ""],
  ["KEY='dos'\r\n", "dos"],
];
const wrong: [text: string, message: string][] = [
  ["A='1'\nKEY", "invalid environment variable format at line 2: missing '='"],
  ["='1'", "invalid environment variable format at line 1: empty variable name"],
  ["KEY ='1'", "invalid environment variable format at line 1: whitespace before '=' is not allowed"],
  ["KEY=1", "invalid environment variable format at line 1: value must be enclosed in single quotes"],
  [
    "A='1\n2'3\nKEY='x'",
    "invalid environment variable format at line 2: unexpected content after closing quote",
  ],
  ["\nKEY='1\n2\n", "invalid environment variable format starting at line 2: unclosed single quote"],
];

test("values of environment files: quoted, over lines, with comments", () => {
  for (const [text, expected] of table) assert.equal(envFileValue(text, "KEY"), expected, text);
});

test("a fault names its line and not the contents", () => {
  for (const [text, message] of wrong) assert.throws(() => envFileValue(text, "KEY"), { message }, text);
});
