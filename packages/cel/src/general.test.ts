import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createEnvironment, types, type Value } from "./index.ts";

describe("a general environment", () => {
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

  test("has the declared variables, also those with dots", () => {
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

  test("gives the type and counts the cost", () => {
    const program = environment.compile("x > 1");
    assert.ok(program.ok);
    assert.equal(program.type.name, "bool");
    assert.deepEqual(program.evaluate({ x: 2n }), { value: true, cost: 2 });
    assert.equal(
      program.evaluate({ x: 2n }, { costLimit: 1 }).error,
      "operation cancelled: actual cost limit exceeded",
    );
  });

  test("looks for names in its container first", () => {
    const inside = createEnvironment({
      variables: { "a.b.x": types.intType, "a.y": types.intType, x: types.intType },
      container: "a.b",
    });
    const program = inside.compile("x * 10 + y");
    assert.ok(program.ok);
    assert.equal(program.evaluate({ "a.b.x": 1n, "a.y": 2n, x: 3n }).value, 12n);
  });
});
