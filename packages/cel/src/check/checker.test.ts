import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type CompileFailure, deviceEnvironment } from "../index.ts";

const environment = deviceEnvironment({ stored: true });

function failure(expression: string): CompileFailure {
  const compiled = environment.compile(expression);
  assert.ok(!compiled.ok, `${expression.slice(0, 100)} compiles`);
  return compiled;
}

/** Places and messages, without the lines of the source. */
function problems(expression: string): string[] {
  const { error } = failure(expression);
  return [...error.matchAll(/ERROR: <input>:(.*)/g)].map(([, problem]) => problem!);
}

const nope = (name: string, types: string): string =>
  `found no matching overload for '${name}' applied to '${types}'`;
const isNot = (wanted: string, found: string): string => `expected type '${wanted}' but found '${found}'`;
const unknown = (name: string): string => `undeclared reference to '${name}' (in container '')`;

describe("what the checker finds", () => {
  const cases: readonly (readonly [expression: string, ...problems: string[]])[] = [
    // Each operand of a logical operator is judged by itself, and so are bodies of quantifiers.
    ["1 && 'a'", `1:1: ${isNot("bool", "int")}`, `1:6: ${isNot("bool", "string")}`],
    ["[1].all(x, x)", `1:12: ${isNot("bool", "int")}`],
    // What is not known has no type that could be wrong.
    ["nosuch + 1 == other(2)", `1:1: ${unknown("nosuch")}`, `1:20: ${unknown("other")}`],
    ["math.abs(1)", `1:1: ${unknown("math")}`, `1:9: ${unknown("abs")}`],
    [".nosuch", `1:2: ${unknown(".nosuch")}`],
    // Free type parameters have numbers, in the order in which they came up.
    ["{} && []", `1:1: ${isNot("bool", "map(_var0, _var1)")}`, `1:7: ${isNot("bool", "list(_var2)")}`],
    ["[].x", "1:3: type 'list(_var0)' does not support field selection"],
    ["size([]) + ''", `1:10: ${nope("_+_", "(int, string)")}`],
    // Literals are of one type; the list tells the first odd one, the map all of them.
    ["[1, 'a', 2.0] == []", `1:5: ${isNot("int", "string")}`],
    [
      "{1: 1, 'a': 'b'} == {}",
      `1:8: ${isNot("int", "string")}`,
      `1:13: ${isNot("int", "string")}`,
    ],
    ["'%s'.format([[1, 'a']]) == nosuch", `1:28: ${unknown("nosuch")}`],
    ["[dyn(1), 1] == []", `1:10: ${isNot("dyn", "int")}`],
    ["[?1] == []", `1:3: ${isNot("optional_type(int)", "int")}`],
    // Constants are read.
    ["duration('1') == duration(1)", `1:26: ${nope("duration", "(int)")}`],
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
    // What optMap is applied to stands twice in what it becomes.
    ["nosuch.optMap(x, x)", `1:1: ${unknown("nosuch")}`, `1:1: ${unknown("nosuch")}`],
  ]; // biome-ignore format: a table reads better in lines
  for (const [expression, ...expected] of cases) {
    test(expression, () => assert.deepEqual(problems(expression), expected));
  }

  test("a variable of a macro hides one of the environment, but for a leading dot", () => {
    assert.deepEqual(problems("[1].all(device, device.driver == '')"), [
      "1:23: type 'int' does not support field selection",
    ]);
    assert.ok(environment.compile("[1].all(device, .device.driver == '')").ok);
  });

  test("the first hundred found are told, and the rest is counted", () => {
    const { error } = failure(`[${Array.from({ length: 130 }, () => "x").join(", ")}]`);
    assert.equal(error.match(/ERROR/g)?.length, 100);
    assert.match(error, /\n30 more errors were truncated$/);
  });

  test("a line too long to read is left out", () => {
    assert.doesNotMatch(failure(`nosuch == '${"a".repeat(16384)}'`).error, /\n/);
  });

  test("types that double with every name are refused, and not computed", () => {
    const names = Array.from({ length: 80 }, (_, i) => `v${i}`);
    const expression = names.reduceRight(
      (body, name, i) => `cel.bind(${name}, ${i === 0 ? "[1]" : `{v${i - 1}: v${i - 1}}`}, ${body})`,
      "true",
    );
    assert.match(failure(expression).error, /the type of this expression is too large/);
  });
});

describe("names of types that no value has", () => {
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

  test("those of values are values", () => {
    assert.ok(environment.compile("type(1) == int && type(ip('::1')) == net.IP").ok);
  });
});
