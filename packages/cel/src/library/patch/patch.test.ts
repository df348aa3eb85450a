import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  appliedObject,
  type Backend,
  createEnvironment,
  type Environment,
  ForeignValue,
  jsonValue,
  PatchValueError,
  patchOperations,
  type Result,
  types,
  type Value,
} from "../../index.ts";

const environmentOf = (backend: Backend): Environment =>
  createEnvironment({
    variables: { object: types.dynType, x: types.intType },
    patchTypes: true,
    basic: true,
    backend,
  });
const environments = (["generated", "closures"] as const).map(environmentOf);
const object = jsonValue({ metadata: { labels: { a: "b" } }, spec: { replicas: 2, list: [{ name: "n" }] } });

/** Compares the results of both back ends. */
function run(expression: string): Result {
  const [first, second] = environments.map((environment) => {
    const program = environment.compile(expression);
    assert.ok(program.ok, program.ok ? "" : program.error);
    return program.evaluate({ object, x: 7n });
  }) as [Result, Result];
  assert.deepEqual(second, first);
  return first;
}

function value(expression: string): NonNullable<Result["value"]> {
  const result = run(expression);
  assert.equal(result.error, undefined);
  return result.value!;
}

function failure(expression: string): string {
  const program = environments[0]!.compile(expression);
  return program.ok ? (run(expression).error ?? "no failure") : program.error.split("\n")[0]!;
}

const thrown = (make: () => unknown): string => {
  try {
    make();
  } catch (error) {
    assert.ok(error instanceof PatchValueError);
    return error.message;
  }
  return "nothing was thrown";
};

describe("objects", () => {
  const json = (expression: string): unknown => appliedObject(value(expression));

  test("have any fields, also optional ones", () => {
    assert.deepEqual(json("Object{}"), {});
    assert.deepEqual(json("Object{spec: Object.spec{replicas: x + 1, paused: true}}"), {
      spec: { replicas: 8, paused: true },
    });
    assert.deepEqual(json("Object{?a: optional.none(), ?b: object.?spec.?replicas}"), { b: 2 });
    assert.deepEqual(json("Object{?a: optional.ofNonZeroValue(Object.a{}), b: Object.b{`x.io/y`: 1}}"), {
      b: { "x.io/y": 1 },
    });
    assert.deepEqual(json("Object{a: {'k': 'v'}, b: [1, 2].map(i, Object.b{i: i}), c: object.spec}"), {
      a: { k: "v" },
      b: [{ i: 1 }, { i: 2 }],
      c: { replicas: 2, list: [{ name: "n" }] },
    });
  });

  test("cost 40, and the cost of their fields", () => {
    assert.equal(run("Object{}").cost, 40);
    assert.equal(run("Object{a: Object.a{b: x}}").cost, 81);
    const program = environments[0]!.compile("Object{a: Object.a{b: x}}");
    assert.equal(program.ok && program.maxCost, 81);
    const limited = program.ok && program.evaluate({ x: 1n }, { costLimit: 80 });
    assert.deepEqual(limited, { error: "operation cancelled: actual cost limit exceeded", cost: 81 });
  });

  test("have fields, of which objects become maps; an unset field is null", () => {
    assert.equal(value("Object{a: 1}.a"), 1n);
    assert.equal(value("Object{a: 1}.b == null"), true);
    assert.equal(value("has(Object{a: 1}.a) && !has(Object{a: 1}.b)"), true);
    // cel-go selects optional fields without the declaration of the type.
    assert.equal(value("Object{a: 1}.?a.orValue(3)"), 3n);
    assert.equal(value("Object{a: Object.a{b: 1}}.a == {'b': 1}"), true);
    assert.equal(value("Object{a: {'k': Object.a{b: 1}}}.a.k.b"), 1n);
    assert.equal(failure("dyn(Object{a: 1}).a == 1"), "no such key: a");
  });

  test("are equal if their types and fields are equal; lists and maps must be identical", () => {
    assert.equal(value("Object{a: Object.a{b: x}} == Object{a: Object.a{b: 7}}"), true);
    assert.equal(value("Object{a: [x]} == Object{a: [7]}"), false);
    assert.equal(value("Object{a: 1} == Object{a: uint(1)}"), false);
    assert.equal(value("Object{a: 1} == Object{a: 2}"), false);
    assert.equal(value("Object{a: 1} == Object{}"), false);
    assert.equal(value("dyn(Object.a{}) == dyn(Object.b{})"), false);
    assert.equal(value("type(Object.a{}) == type(Object.b{})"), false);
  });

  test("must have the type of their field path", () => {
    const text = (name: string, path: string): string =>
      `type mismatch: unexpected type name "${name}", expected "${path}", which matches field name path from root Object type`;
    const cases: readonly [string, string][] = [
      ["Object{spec: Object.specs{}}", text("Object.specs", "Object.spec")],
      ["Object{a: [Object.b{}]}", text("Object.b", "Object.a")],
      ["Object{a: {'k': Object.a.k{}}}", text("Object.a.k", "Object.a")],
    ];
    for (const [expression, expected] of cases)
      assert.equal(
        thrown(() => appliedObject(value(expression))),
        expected,
      );
  });
});

describe("the JSON of objects", () => {
  test("contains foreign values for values that JSON lacks", () => {
    const foreign = (expression: string): unknown => {
      const { a } = appliedObject(value(`Object{a: ${expression}}`));
      return a instanceof ForeignValue ? [a.type, a.text, a.syntax] : a;
    };
    assert.equal(foreign("9007199254740993"), 9007199254740993n);
    assert.deepEqual(foreign("null"), ["structpb.NullValue", "NULL_VALUE", "0"]);
    assert.deepEqual(foreign("uint(3)"), ["uint64", "3", "0x3"]);
    assert.deepEqual(foreign("b'ab'"), ["[]uint8", "[97 98]", "[]uint8{0x61, 0x62}"]);
    assert.deepEqual(foreign("duration('1s')"), ["time.Duration", "1s", "1000000000"]);
    const [item] = foreign("[{'b': 'c', 'a': 'd'}]") as ForeignValue[];
    assert.deepEqual([item?.type, item?.text], ["map[ref.Val]ref.Val", "map[a:d b:c]"]);
    const keys = foreign("Object.a{b: {1: 'b'}}") as string[];
    assert.match(keys[1]!, /^fail to convert field "b": map key .* is of type types\.Int, not string$/);
    assert.equal(
      thrown(() => appliedObject(value("Object{a: {1: 'b'}}"))),
      "invalid return type: *dynamic.ObjectVal",
    );
  });

  test("is limited for objects that share their parts", () => {
    let shared: Value = [1n];
    for (let i = 0; i < 60; i++) shared = [shared, shared];
    const program = environments[0]!.compile("Object{a: object}");
    assert.ok(program.ok);
    const result = program.evaluate({ object: shared });
    assert.equal(
      thrown(() => appliedObject(result.value!)),
      "internal error: too many elements of lists and maps",
    );
  });
});

describe("invalid objects", () => {
  test("have cel-go's errors", () => {
    const cases: readonly [string, string][] = [
      ["Objects{}", "1:8: undeclared reference to 'Objects' (in container '')"],
      ["Object{a: nope}", "1:11: undeclared reference to 'nope' (in container '')"],
      ["Object{?a: 1}", "1:12: expected type 'optional_type(int)' but found 'int'"],
      ["JSONPatch{op: 1}", "1:13: expected type of field 'op' is 'string' but provided type is 'int'"],
      [
        "Object{'a': 1}",
        "1:8: Syntax error: mismatched input ''a'' expecting {'}', ',', '?', IDENTIFIER, ESC_IDENTIFIER}",
      ],
      ["Object{a: 1, 2: 3}", "1:14: Syntax error: mismatched input '2' expecting '}'"],
      ["Object{? : 1}", "1:8: unsupported ident kind"],
      ["JSONPatch{foo: 1}", "1:14: expected type of field 'foo' is '' but provided type is 'int'"],
      ["Object{} == 1", "1:10: found no matching overload for '_==_' applied to '(Object, int)'"],
    ];
    for (const [expression, expected] of cases)
      assert.equal(failure(expression), `compilation failed: ERROR: <input>:${expected}`);
  });

  test("are objects in an environment without patch types", () => {
    const program = createEnvironment({ basic: true }).compile("Object{}");
    assert.match(program.ok ? "" : program.error, /undeclared reference to 'Object'/);
  });
});

describe("JSON patches", () => {
  const operations = (expression: string): unknown => patchOperations(value(expression));

  test("are lists of operations", () => {
    assert.deepEqual(operations("[JSONPatch{op: 'add', path: '/a', value: [x, 2]}]"), [
      { op: "add", path: "/a", value: [7, 2] },
    ]);
    assert.deepEqual(operations("[JSONPatch{op: 'move', from: '/a', path: '/b'}]"), [
      { op: "move", from: "/a", path: "/b" },
    ]);
    assert.deepEqual(
      operations("object.spec.list.map(e, JSONPatch{op: 'add', path: '/' + e.name, value: null})"),
      [{ op: "add", path: "/n", value: null }],
    );
    assert.deepEqual(operations("[JSONPatch{op: 'add', path: '/a', value: Object.b{c: Object.b.c{d: 1}}}]"), [
      { op: "add", path: "/a", value: { c: { d: 1 } } },
    ]);
  });

  test("hold values in the JSON of protobuf", () => {
    const operand = (expression: string): unknown => {
      const [operation] = patchOperations(value(`[JSONPatch{value: ${expression}}]`));
      return operation!["value"];
    };
    assert.equal(operand("9007199254740993"), "9007199254740993");
    assert.equal(operand("1.5"), 1.5);
    assert.equal(operand("b'abc'"), "YWJj");
    assert.equal(operand("duration('90s')"), "90s");
    assert.equal(operand("timestamp('2024-01-02T03:04:05Z')"), "2024-01-02T03:04:05Z");
    assert.deepEqual(operand("{'a': [1]}"), { a: [1] });
    assert.equal(operand("Object{}.a"), null);
    assert.deepEqual(operand("Object{a: b'abc', b: uint(3)}"), { a: "YWJj", b: 3 });
    const problem = (expression: string): string =>
      thrown(() => operand(expression)).replace(
        "JSONPath valueExpression evaluated to a type that could not marshal to JSON: ",
        "",
      );
    assert.equal(problem("quantity('1')"), "type conversion error from 'Quantity' to '*structpb.Value'");
    assert.equal(problem("Object{a: null}"), "proto: invalid type: structpb.NullValue");
    assert.equal(problem("{1: 'a'}"), "unsupported type conversion from 'int' to string");
  });

  test("have fields; an unset string is empty", () => {
    assert.equal(value("JSONPatch{op: 'a'}.op + JSONPatch{}.path"), "a");
    assert.equal(value("has(JSONPatch{op: 'a'}.op) && !has(JSONPatch{op: 'a'}.path)"), true);
    assert.equal(value("JSONPatch{op: 'a', value: 1} == JSONPatch{op: 'a', value: 1}"), true);
    assert.equal(value("JSONPatch{}.value == null && !has(JSONPatch{}.value)"), true);
    assert.equal(failure("has(JSONPatch{}.nope)"), "unsupported field: nope");
    assert.equal(failure("JSONPatch{op: dyn(1)}"), "unexpected type int64 for JSONPatchType 'op' field");
  });

  test("have escaped keys", () => {
    assert.equal(value("jsonpatch.escapeKey('a/b~c')"), "a~1b~0c");
    assert.equal(run("jsonpatch.escapeKey('a/b~c')").cost, 1);
  });
});
