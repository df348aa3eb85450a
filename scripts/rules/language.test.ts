import assert from "node:assert/strict";
import { test } from "node:test";
import { language } from "./language.ts";
import { createSource } from "./source.ts";

const found = (text: string): string[] =>
  language([createSource("a.ts", text)]).map(({ line, text }) => `${line} ${text.split(":")[0]}`);

const headless = 'begin with a noun or a verb, not with "What" or "Who"';

for (const [comment, advice] of [
  ["/** What a container gets. */", headless],
  ["/** Returns it. Who asks again gets another. */", headless],
  ["// Whoever comes first has it.", headless],
  ["/** Answers a request. */", 'write "Returns", "Reports" or "Holds"'],
  [
    "/** Throws for an address that is none. */",
    'write "is not a ...", "is invalid", "is missing" or "does not exist"',
  ],
  ["// The client is told so.", 'write "receives", "is given" or "is reported"'],
] as const)
  test(`\`${comment}\` is found`, () => assert.deepEqual(found(`\n${comment}\n`), [`2 ${advice}`]));

test("a construction is found across the lines of a comment", () => {
  assert.deepEqual(found("// The client\n// is told so.\n"), [
    '1 write "receives", "is given" or "is reported"',
  ]);
});

for (const [name, advice] of [
  ["mostEntries", "name a limit maxX"],
  ["longestName", "name a limit maxX"],
  ["leastRounds", "name a limit minX"],
  ["told", "say what was reported or sent, and to whom"],
  ["#patience", "name it timeout"],
] as const)
  test(`the name ${name} is found once`, () => {
    const text = `class A {\n  ${name} = 1;\n  a = () => this.${name};\n}`;
    assert.deepEqual(found(text), [`2 ${name.replace("#", "")}`]);
    assert.match(language([createSource("a.ts", text)])[0]!.text, new RegExp(`${advice}$`));
  });

test("questions, processes that are told apart, upstream's names and texts for users are not found", () => {
  for (const text of [
    "/** What is it? */",
    "/** Two processes are told apart by their start. */",
    "/** Whether there is no such pod. */",
    "/** Reports what is missing. */",
    "const mostRecentScheduleTime = 1;",
    'const text = "told"; // the rest',
    "const text = `told patience`;",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the text of a program.
    "const text = `${a} was told of ${b}`, pattern = /told/;",
  ])
    assert.deepEqual(found(text), [], text);
});

test("a line with a comment has at most 110 columns, but for addresses", () => {
  assert.deepEqual(found(`// ${"x".repeat(107)}\n// ${"x".repeat(108)}`), ["2 a comment of 111 columns"]);
  assert.deepEqual(found(`/**\n * ${"x".repeat(120)}\n */`), ["2 a comment of 123 columns"]);
  assert.deepEqual(found(`// https://${"x".repeat(120)}`), []);
});
