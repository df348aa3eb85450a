import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { CelError, createEnvironment, jsonValue, LazyMap, types, type Value } from "./index.ts";

describe("an environment", () => {
  const environment = createEnvironment({
    variables: {
      x: types.intType,
      "a.b": types.stringType,
      list: types.listType(types.dynType),
      maybe: types.dynType,
    },
  });
  const run = (expression: string, bindings: Record<string, Value>): unknown => {
    const program = environment.compile(expression);
    assert.ok(program.ok, program.ok ? "" : program.error);
    const { value, error } = program.evaluate(bindings);
    return error ?? value;
  };

  test("has the declared variables, also with dots in their names", () => {
    assert.equal(run("x + 1", { x: 4n }), 5n);
    assert.equal(run('a.b + "!"', { "a.b": "hello" }), "hello!");
    assert.deepEqual(run("list.map(e, e)", { list: [1n, "a"] }), [1n, "a"]);
  });

  test("null is a value", () => {
    assert.equal(run("maybe", { maybe: null }), null);
    assert.equal(run("maybe == null", { maybe: null }), true);
    assert.equal(run("[maybe][0]", { maybe: null }), null);
    assert.equal(run("optional.of(maybe).orValue(1)", { maybe: null }), null);
    assert.equal(run('{"a": maybe}.a', { maybe: null }), null);
  });

  test("a variable without a value is an error where it is used", () => {
    assert.equal(run("x + 1", {}), "no such attribute(s): x");
    assert.equal(run("x == 1 || true", {}), true);
  });

  test("reports the type and the cost", () => {
    const program = environment.compile("x > 1");
    assert.ok(program.ok);
    assert.equal(program.type.name, "bool");
    assert.deepEqual(program.evaluate({ x: 2n }), { value: true, cost: 2 });
    assert.equal(
      program.evaluate({ x: 2n }, { costLimit: 1 }).error,
      "operation cancelled: actual cost limit exceeded",
    );
  });

  test("looks up names in its container first", () => {
    const inside = createEnvironment({
      variables: { "a.b.x": types.intType, "a.y": types.intType, x: types.intType },
      container: "a.b",
    });
    const program = inside.compile("x * 10 + y");
    assert.ok(program.ok);
    assert.equal(program.evaluate({ "a.b.x": 1n, "a.y": 2n, x: 3n }).value, 12n);
  });
});

describe("values for variables of any type", () => {
  const environment = createEnvironment({ variables: { object: types.dynType, variables: types.dynType } });
  const run = (expression: string, bindings: Record<string, Value>): unknown => {
    const program = environment.compile(expression);
    assert.ok(program.ok, program.ok ? "" : program.error);
    const { value, error } = program.evaluate(bindings);
    return error ?? value;
  };

  test("JSON is converted by value: whole numbers are ints, undefined members are missing", () => {
    const object = jsonValue({ a: { n: 3, f: 1.5, l: ["x", null], u: undefined }, big: 2n ** 60n });
    assert.equal(run("object.a.n + 1", { object }), 4n);
    assert.equal(run("object.a.f * 2.0", { object }), 3);
    assert.equal(run("object.a.l[1] == null && object.a.l.size() == 2", { object }), true);
    assert.equal(run("has(object.a.u) || has(object.nosuch)", { object }), false);
    assert.equal(run("object.a.size()", { object }), 3n);
    assert.equal(run("object.big", { object }), 2n ** 60n);
    assert.equal(run("object.constructor", { object }), "no such key: constructor");
    assert.equal(run('object == {"a": object.a, "big": object.big}', { object }), true);
  });

  test("a lazy map computes each value once, at its first use", () => {
    const made: string[] = [];
    const make = (name: string, value: Value) =>
      [
        name,
        () => {
          made.push(name);
          return value;
        },
      ] as const;
    const variables = new LazyMap(new Map([make("a", 1n), make("b", new CelError("broken"))]));
    assert.equal(run("variables.a + variables.a", { variables }), 2n);
    assert.equal(run("has(variables.c)", { variables }), false);
    assert.deepEqual(made, ["a"]);
    assert.equal(run("variables.b == 1", { variables }), "broken");
  });
});

describe("the basic environment", () => {
  const basic = createEnvironment({ variables: { object: types.dynType }, basic: true });
  const errorsOf = (expression: string): string[] => {
    const program = basic.compile(expression);
    return program.ok ? [] : (program.error.match(/(?<=ERROR: ).*/g) ?? []);
  };

  test("has no additions of device selectors", () => {
    assert.deepEqual(errorsOf("cel.bind(a, 1, a == 1)"), [
      "<input>:1:1: undeclared reference to 'cel' (in container '')",
      "<input>:1:9: undeclared reference to 'bind' (in container '')",
      "<input>:1:10: undeclared reference to 'a' (in container '')",
      "<input>:1:16: undeclared reference to 'a' (in container '')",
    ]);
    assert.deepEqual(errorsOf("object.`a-b` == 1"), ["<input>:1:8: unsupported syntax: '`'"]);
    assert.deepEqual(errorsOf("includes([1], 1)"), [
      "<input>:1:9: undeclared reference to 'includes' (in container '')",
    ]);
    assert.deepEqual(errorsOf("[1, 2].sum() == 3 && object.?a.hasValue()"), []);
  });
});

describe("syntax errors have the text of ANTLR", () => {
  const starts =
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}";
  const cases: readonly (readonly [expression: string, error: string])[] = [
    ["1 2", "1:3: Syntax error: extraneous input '2' expecting <EOF>"],
    ["1 2 3", "1:3: Syntax error: mismatched input '2' expecting <EOF>"],
    ["(1", "1:3: Syntax error: missing ')' at '<EOF>'"],
    ["(1 2)", "1:4: Syntax error: extraneous input '2' expecting ')'"],
    ["(a b", "1:4: Syntax error: mismatched input 'b' expecting ')'"],
    ["[1 2]", "1:4: Syntax error: extraneous input '2' expecting {']', ','}"],
    ["{1 2}", "1:4: Syntax error: missing ':' at '2'"],
    ["a ? b", "1:6: Syntax error: mismatched input '<EOF>' expecting ':'"],
    ["a..b", "1:3: Syntax error: no viable alternative at input '..'"],
    ["1 +", `1:4: Syntax error: mismatched input '<EOF>' expecting ${starts}`],
    ["1 + + 2", `1:5: Syntax error: extraneous input '+' expecting ${starts}`],
  ];
  for (const [expression, error] of cases) {
    test(expression, () => {
      const program = createEnvironment().compile(expression);
      assert.ok(!program.ok);
      assert.ok(program.error.startsWith(`compilation failed: ERROR: <input>:${error}\n`), program.error);
    });
  }
});
