import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type CompileFailure, deviceEnvironment } from "../index.ts";

const environment = deviceEnvironment({ stored: true });

function failure(expression: string): CompileFailure {
  const compiled = environment.compile(expression);
  assert.ok(!compiled.ok, `${expression.slice(0, 100)} compiles`);
  return compiled;
}

/** Positions and messages, without the lines of the source. */
function problems(expression: string): string[] {
  const { error } = failure(expression);
  return [...error.matchAll(/ERROR: <input>:(.*)/g)].map(([, problem]) => problem!);
}

const noOverload = (name: string, types: string): string =>
  `found no matching overload for '${name}' applied to '${types}'`;
const mismatch = (wanted: string, found: string): string => `expected type '${wanted}' but found '${found}'`;
const undeclared = (name: string): string => `undeclared reference to '${name}' (in container '')`;

describe("problems of the checker", () => {
  const cases: readonly (readonly [expression: string, ...problems: string[]])[] = [
    // Each operand of a logical operator is checked by itself, and so are bodies of quantifiers.
    ["1 && 'a'", `1:1: ${mismatch("bool", "int")}`, `1:6: ${mismatch("bool", "string")}`],
    ["[1].all(x, x)", `1:12: ${mismatch("bool", "int")}`],
    // An undeclared name has no type, which causes no further problem.
    ["nosuch + 1 == other(2)", `1:1: ${undeclared("nosuch")}`, `1:20: ${undeclared("other")}`],
    ["math.abs(1)", `1:1: ${undeclared("math")}`, `1:9: ${undeclared("abs")}`],
    [".nosuch", `1:2: ${undeclared(".nosuch")}`],
    // Free type parameters are numbered in the order of their creation.
    ["{} && []", `1:1: ${mismatch("bool", "map(_var0, _var1)")}`, `1:7: ${mismatch("bool", "list(_var2)")}`],
    ["[].x", "1:3: type 'list(_var0)' does not support field selection"],
    ["size([]) + ''", `1:10: ${noOverload("_+_", "(int, string)")}`],
    // The elements of a literal have one type. A list reports the first other element, a map all of them.
    ["[1, 'a', 2.0] == []", `1:5: ${mismatch("int", "string")}`],
    [
      "{1: 1, 'a': 'b'} == {}",
      `1:8: ${mismatch("int", "string")}`,
      `1:13: ${mismatch("int", "string")}`,
    ],
    ["'%s'.format([[1, 'a']]) == nosuch", `1:28: ${undeclared("nosuch")}`],
    ["[dyn(1), 1] == []", `1:10: ${mismatch("dyn", "int")}`],
    ["[?1] == []", `1:3: ${mismatch("optional_type(int)", "int")}`],
    // Constant arguments are validated.
    ["duration('1') == duration(1)", `1:26: ${noOverload("duration", "(int)")}`],
    ["duration('1') == duration('x')", "1:10: invalid duration argument", "1:27: invalid duration argument"],
    ["timestamp(9223372036854775807) == timestamp(0)", "1:11: invalid timestamp argument"],
    ["timestamp(null) == timestamp(0)", "1:11: invalid timestamp argument"],
    ["matches('(', 'a')", "1:9: invalid matches argument"],
    // Types, fields, names.
    ["quantity('1').value", "1:14: unexpected failed resolution of 'kubernetes.Quantity'"],
    ["device.nosuch", "1:7: undefined field 'nosuch'"],
    ["kubernetes.DRADevice{driver: 1}.driver == ''", "1:28: expected type of field 'driver' is 'string' but provided type is 'int'"],
    ["int{}", "1:4: 'int' is not a message type"],
    ["1.all(x, true)", "1:1: expression of type 'int' cannot be range of a comprehension (must be list, map, or dynamic)"],
    // The target of optMap is part of its expansion twice.
    ["nosuch.optMap(x, x)", `1:1: ${undeclared("nosuch")}`, `1:1: ${undeclared("nosuch")}`],
  ]; // biome-ignore format: a table reads better in lines
  for (const [expression, ...expected] of cases) {
    test(expression, () => assert.deepEqual(problems(expression), expected));
  }

  test("a variable of a macro hides one of the environment, except with a leading dot", () => {
    assert.deepEqual(problems("[1].all(device, device.driver == '')"), [
      "1:23: type 'int' does not support field selection",
    ]);
    assert.ok(environment.compile("[1].all(device, .device.driver == '')").ok);
  });

  test("the first 100 are reported, and the others are counted", () => {
    const { error } = failure(`[${Array.from({ length: 130 }, () => "x").join(", ")}]`);
    assert.equal(error.match(/ERROR/g)?.length, 100);
    assert.match(error, /\n30 more errors were truncated$/);
  });

  test("a very long line is left out", () => {
    assert.doesNotMatch(failure(`nosuch == '${"a".repeat(16384)}'`).error, /\n/);
  });

  test("exponentially large types are rejected", () => {
    const names = Array.from({ length: 80 }, (_, i) => `v${i}`);
    const expression = names.reduceRight(
      (body, name, i) => `cel.bind(${name}, ${i === 0 ? "[1]" : `{v${i - 1}: v${i - 1}}`}, ${body})`,
      "true",
    );
    assert.match(failure(expression).error, /the type of this expression is too large/);
  });
});

describe("names of types without a value", () => {
  for (const [expression, name] of [
    ["duration == int", "duration"],
    ["cel.bind(t, int, true)", "t"],
    ["[int].all(t, true) || [int].exists(t, t == int)", "t"],
  ] as const) {
    test(expression, () => {
      const { error, type } = failure(expression);
      assert.equal(error, `program instantiation failed: reference to undefined type: ${name}`);
      assert.equal(type, "InternalError");
    });
  }

  test("names of other types are values", () => {
    assert.ok(environment.compile("type(1) == int && type(ip('::1')) == net.IP").ok);
  });
});
