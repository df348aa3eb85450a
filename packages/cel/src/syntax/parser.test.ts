import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { deviceEnvironment } from "../index.ts";

const environment = deviceEnvironment({ stored: true });

function firstProblem(expression: string): string {
  const compiled = environment.compile(expression);
  assert.ok(!compiled.ok, `${expression.slice(0, 100)} compiles`);
  return /ERROR: <input>:(.*)/.exec(compiled.error)?.[1] ?? compiled.error;
}

const compiles = (expression: string): boolean => environment.compile(expression).ok;

test("valid syntax", () => {
  for (const expression of [
    "--1 == 1 && 1--1 == 2 && ---1 == -1",
    "[1, 2,] == [1, 2] && {'a': 1,} == {'a': 1} && [,] == [] && {,} == {}",
    ".5 == 0.5 && 0x1F == 31 && 1e3 == 1000.0 && 0xfu == 15u",
    "r'\\' == '\\\\' && '''a'b''' == \"a'b\" && b'\\xff'.size() == 1 && '\\u00e9\\351' == 'éé'",
    "device.attributes.`dra.example.com`.?model.hasValue() || device.attributes.if.for == 1",
    "1 < 2 // a comment\n  && true",
    "[?optional.of(1)] == [1] && {?'a': optional.none()} == {}",
    "true ? false || true : false ? false : true",
  ]) {
    assert.ok(compiles(expression), expression);
  }
});

describe("the position of the first error", () => {
  for (const [expression, place] of [
    ["", "1:0"],
    ["1 +", "1:4"],
    ["1 2", "1:3"],
    ["[,, 1]", "1:3"],
    ["[1,, 2]", "1:4"],
    ["device.", "1:8"],
    ["device.[1]", "1:8"],
    ["device.true", "1:8"],
    ["'abc", "1:1"],
    ["r'", "1:2"],
    ["1 == $", "1:6"],
    ["true &&\n\t(1", "2:4"],
    // Macros check the arguments up to the error.
    ["has(device.driver ]", "1:19"],
    ["has(device[ ]", "1:11"],
    ["has(device.attributes < 1 ]", "1:23"],
    ["[1].all(x.y, 1 1)", "1:10"],
  ] as const) {
    test(JSON.stringify(expression), () => {
      assert.ok(firstProblem(expression).startsWith(`${place}: `), firstProblem(expression));
    });
  }
});

describe("problems in valid syntax", () => {
  for (const [expression, problem] of [
    ["if == 1", "1:1: reserved identifier: if"],
    ["has(1)", "1:5: invalid argument to has() macro"],
    ["[1].all(1, true)", "1:9: argument must be a simple name"],
    ["[1].map(1, true)", "1:9: argument is not an identifier"],
    ["[1].all(x, x, true)", "1:12: duplicate variable name: x"],
    ["[1].all(__result__, true)", "1:9: iteration variable overwrites accumulator variable"],
    ["cel.bind(1, 2, true)", "1:10: cel.bind() variable names must be simple identifiers"],
    ["{}.sortBy(x, x)", "1:1: sortBy can only be applied to a list, identifier, comprehension, call or select expression"],
    ["9223372036854775808 == 1", "1:1: invalid int literal"],
    ["1e999 == 1.0", "1:1: invalid double literal"],
    ["'\\ud800' == ''", "1:1: invalid unicode code point"],
    ["b'\\u00ff' == b''", "1:1: unable to unescape string"],
  ] as const) {
    test(expression, () => assert.equal(firstProblem(expression), problem));
  } // biome-ignore format: a table reads better in lines
});

describe("nesting", () => {
  const limit = "-1:0: expression recursion limit exceeded: 250";
  const depth = "-1:0: max recursion depth exceeded";
  const forms: readonly (readonly [string, (n: number) => string, max: number, problem: string])[] = [
    ["parentheses", (n) => `${"(".repeat(n)}true${")".repeat(n)}`, 249, limit],
    ["right operands", (n) => `${"1 + (".repeat(n)}1${")".repeat(n)} == 1`, 124, limit],
    ["conditions", (n) => `${"true ? true : ".repeat(n)}true`, 249, limit],
    ["sums", (n) => `${"1 + ".repeat(n)}1 == 1`, 249, depth],
    ["methods", (n) => `"a"${".trim()".repeat(n)} == "a"`, 249, depth],
  ];
  for (const [name, form, max, problem] of forms) {
    test(name, () => {
      assert.ok(compiles(form(max)));
      assert.equal(firstProblem(form(max + 1)), problem);
      assert.equal(firstProblem(form(5000)), problem);
    });
  }

  test("chains of logical operators and of signs may be long", () => {
    assert.ok(compiles(`${"true && ".repeat(3000)}true`));
    assert.ok(compiles(`${"!".repeat(3000)}true`));
  });

  test("the nodes that macros duplicate are limited", () => {
    assert.match(
      firstProblem(`optional.of(1)${".optMap(x, x)".repeat(40)}.hasValue()`),
      /macros copy more than/,
    );
  });

  test("the length is limited", () => {
    assert.equal(
      firstProblem(`'${"a".repeat(100_000)}'`),
      "-1:0: expression code point size exceeds limit: size: 100002, limit 100000",
    );
  });
});
