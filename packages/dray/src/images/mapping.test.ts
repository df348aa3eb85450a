import assert from "node:assert/strict";
import { test } from "node:test";
import { builtInImages } from "./built-in.ts";
import { parseImageMapping } from "./mapping.ts";

test("PATTERN=COMMAND: blanks split the command, quotes hold it together", () => {
  for (const [text, pattern, command] of [
    ["a/b:*=/bin/tool", "a/b:*", ["/bin/tool"]],
    ["a=/bin/tool --flag=x  y", "a", ["/bin/tool", "--flag=x", "y"]],
    [`a=sh -c 'echo "a b"'`, "a", ["sh", "-c", 'echo "a b"']],
    [`a="/my tool" ""`, "a", ["/my tool", ""]],
    [`a=tool --name="a b"c`, "a", ["tool", "--name=a bc"]],
  ] as const) {
    assert.deepEqual(parseImageMapping(text), { pattern, command }, text);
  }
});

test("a mapping without a pattern or a command, or with an open quote, is refused", () => {
  for (const text of ["", "image", "=command", "image=", "image=  ", "two words=command", "a=tool 'open"])
    assert.throws(() => parseImageMapping(text), /must be PATTERN=COMMAND, as in/, text);
});

test("a folder of programs is an absolute path that stands alone", () => {
  assert.deepEqual(parseImageMapping("a=/opt/bin/"), { pattern: "a", command: ["/opt/bin/"] });
  for (const text of ["a=bin/", "a=/opt/bin/ --flag", "a=/", "a=./"])
    assert.throws(() => parseImageMapping(text), /a folder of programs must be an absolute path/, text);
});

test("the image of the tutorial's driver is known", () => {
  assert.ok(builtInImages().some(({ pattern }) => pattern.includes("dra-example-driver")));
});
