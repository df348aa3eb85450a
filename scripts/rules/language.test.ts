import assert from "node:assert/strict";
import { test } from "node:test";
import { language } from "./language.ts";
import { createSource } from "./source.ts";

const found = (text: string): string[] =>
  language([createSource("a.ts", text)]).map(({ line, text }) => `${line} ${text.split(":")[0]}`);

const headless = 'begin with a noun or a verb, not with "What" or "Who"';
const fragment = 'write a sentence, or begin with a noun instead of "Where" or "Of"';
const missing = 'write "is not a ...", "is invalid", "is missing" or "does not exist"';
const not = 'write "is not a ...", "has no ..." or "there is no ..."';
const number = "name the number or the parameter that holds it";
const reported = 'write "receives", "is given" or "is reported"';

for (const [comment, advice] of [
  ["/** What a container gets. */", headless],
  ["/** Returns it. Who asks again gets another. */", headless],
  ["// Whoever comes first has it.", headless],
  ["/** Answers a request. */", 'write "Returns", "Reports" or "Holds"'],
  ["/** Throws for an address that is none. */", missing],
  ["// The client is told so.", reported],
  ["// The user is nobody.", missing],
  ["/** A URL that is no resource. */", not],
  ["// Waits for so many milliseconds.", number],
  ["/** Where pods run. */", fragment],
  ["/** Lists pods. Of one node: those with `spec.nodeName` of it. */", fragment],
] as const)
  test(`\`${comment}\` is found`, () => assert.deepEqual(found(`\n${comment}\n`), [`2 ${advice}`]));

test("a construction is found across the lines of a comment", () => {
  assert.deepEqual(found("// The client\n// is told so.\n"), [`1 ${reported}`]);
});

for (const [title, advice] of [
  ['"what is missing stays away"', headless],
  ['"store: whoever opens it waits"', headless],
  ['"two agents are told from each other"', reported],
  ['"nobody else waits"', 'write "unused", "no other ..." or "supports"'],
  ['"rejects a key that is no label"', not],
  ["`an owner elsewhere is none`", missing],
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the text of a program.
  ["`keeps so many of ${name}`", number],
] as const)
  test(`the title ${title} is found in test, describe and it`, () => {
    for (const call of ["test", "describe", "it"])
      assert.deepEqual(found(`\n${call}(${title}, () => {});`), [`2 ${advice}`]);
    assert.deepEqual(found(`report(${title});`), []);
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

test('ignores questions, "told apart", names of upstream and texts for users', () => {
  for (const text of [
    "/** What is it? */",
    "/** Two processes are told apart by their start. */",
    "/** Whether there is no such pod. */",
    "/** Reports what is missing. */",
    "/** Where pods run, claims are prepared. */",
    "/** There may be no proxy; parts are no greater than the whole and no longer sent. */",
    "/** There are so many nodes that a search ends early. */",
    'test("there is no proxy, and so much memory that nothing is evicted", () => {});',
    'test("rejects users who may only read, and says what they lack", () => {});',
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
