import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type DeviceInput, deviceEnvironment } from "../index.ts";

const environment = deviceEnvironment({ stored: true });
const device: DeviceInput = {
  driver: "gpu.example.com",
  attributes: {
    model: { string: "a100-80" },
    numa: { int: 3n },
    version: { version: "1.2.3-rc.1+build.5" },
    links: { strings: ["a", "b"] },
  },
};
const A = 'device.attributes["gpu.example.com"]';

describe("derived attributes", () => {
  const results: readonly (readonly [string, unknown])[] = [
    [`${A}.numa / 2`, { int: 1n }],
    [`${A}.model.split("-")[0]`, { string: "a100" }],
    [`${A}.numa == 3`, { bool: true }],
    [`${A}.version`, { version: "1.2.3-rc.1+build.5" }],
    [`${A}.links`, { strings: ["a", "b"] }],
    [`[${A}.version]`, { versions: ["1.2.3-rc.1+build.5"] }],
    ["[1, 2]", { ints: [1n, 2n] }],
    ["[true]", { bools: [true] }],
    ["[]", { strings: [] }],
    ['dyn(optional.of("x"))', { string: "x" }],
    ["dyn(int)", { string: "int" }],
  ];
  for (const [expression, attribute] of results) {
    test(expression, () => {
      const compiled = environment.compileAttribute(expression);
      assert.ok(compiled.ok, compiled.ok ? "" : compiled.error);
      assert.deepEqual(compiled.evaluate(device).attribute, attribute);
    });
  }

  const failures: readonly (readonly [string, string])[] = [
    [`${A}.nope`, "no such key: nope"],
    ["dyn(1.5)", "unsupported CEL return type: float64"],
    ["dyn(optional.none())", "unsupported CEL return type: <nil>"],
    ["dyn(device)", "unsupported CEL return type: map[string]interface {}"],
    ["dyn([quantity('1')])", "unsupported list element type: *resource.Quantity"],
    ["dyn([1]) + dyn(['a'])", "expected list element at index 1 to be int, got string"],
    [
      "dyn(['a']) + dyn([semver('1.2.3')])",
      "expected list element at index 1 to be string, got semver.Version",
    ],
  ];
  for (const [expression, error] of failures) {
    test(`${expression} has no result`, () => {
      const compiled = environment.compileAttribute(expression);
      assert.ok(compiled.ok, compiled.ok ? "" : compiled.error);
      assert.equal(compiled.evaluate(device).error, error);
    });
  }

  test("the type must be that of an attribute", () => {
    const scalars = "must evaluate to a primitive scalar (string, integer, boolean, semver)";
    const bare = deviceEnvironment({ stored: false });
    const problem = (compiled: ReturnType<typeof bare.compileAttribute>): string =>
      compiled.ok ? "compiles" : compiled.error;
    assert.equal(
      problem(environment.compileAttribute("quantity('1')")),
      `${scalars} or a list of these scalars, not kubernetes.Quantity`,
    );
    assert.equal(problem(bare.compileAttribute("[1]")), `${scalars}, not list(int)`);
    // The type is checked before the program is made.
    assert.match(problem(environment.compileAttribute("1.5 + double('x')")), /not double$/);
  });
});

describe("reads of an expression", () => {
  const reads: readonly (readonly [string, object])[] = [
    ["true", { driver: false, attributes: [], capacity: [] }],
    ['device.driver == "x"', { driver: true }],
    ["device.allowMultipleAllocations", { allowMultipleAllocations: true, attributes: [] }],
    [
      `${A}.model == "a" || ${A}["numa"] == 1`,
      {
        attributes: [
          ["gpu.example.com", "model"],
          ["gpu.example.com", "numa"],
        ],
      },
    ],
    [
      `has(${A}.model) && "numa" in ${A}`,
      {
        attributes: [
          ["gpu.example.com", "model"],
          ["gpu.example.com", "numa"],
        ],
      },
    ],
    [`${A}.?zone.orValue("x") == "x"`, { attributes: [["gpu.example.com", "zone"]] }],
    [
      `cel.bind(g, ${A}, g.model == "a" && g.numa == 1)`,
      {
        attributes: [
          ["gpu.example.com", "model"],
          ["gpu.example.com", "numa"],
        ],
        capacity: [],
      },
    ],
    [
      'device.capacity["d"].memory.compareTo(quantity("1Gi")) >= 0',
      { capacity: [["d", "memory"]], attributes: [] },
    ],
    [`${A}.exists(k, k == "model")`, { attributes: "all", capacity: [] }],
    ["device.attributes[device.driver].model == 1", { driver: true, attributes: "all" }],
    ["cel.bind(m, device.attributes[device.driver], m.a.b == 1)", { driver: true, attributes: "all" }],
    // A bound map of all domains depends on whether it is empty.
    ['cel.bind(m, device.attributes, has(m["a"].b))', { attributes: "all" }],
    ['cel.bind(d, device, has(d.attributes["a"].b))', { attributes: [["a", "b"]] }],
    ["device == null", { driver: true, allowMultipleAllocations: true, attributes: "all", capacity: "all" }],
  ];
  for (const [expression, expected] of reads) {
    test(expression, () => {
      const selector = environment.compile(expression);
      assert.ok(selector.ok, selector.ok ? "" : selector.error);
      const actual = Object.fromEntries(
        Object.keys(expected).map((key) => [key, selector.reads[key as keyof typeof selector.reads]]),
      );
      assert.deepEqual(actual, expected);
    });
  }
});

describe("prepared devices", () => {
  test("have the result of the device itself", () => {
    const selector = environment.compile(`${A}.model == "a100-80" && ${A}.numa > 2`);
    assert.ok(selector.ok);
    const prepared = environment.prepare(device);
    assert.deepEqual(selector.evaluate(prepared), selector.evaluate(device));
    assert.deepEqual(selector.evaluate(prepared), { matches: true, cost: 10 });
  });

  test("have the error of an invalid attribute", () => {
    const prepared = environment.prepare({ driver: "d", attributes: { v: { version: "1" } } });
    const selector = environment.compile("true");
    assert.ok(selector.ok);
    assert.match(selector.evaluate(prepared).error ?? "", /^attribute v: parse semantic version: /);
  });
});

test("no operator absorbs a panic of Go", () => {
  const selector = environment.compile(`${A}.version in ["a"] || true`);
  assert.ok(selector.ok);
  const { error, cost } = selector.evaluate(device);
  assert.equal(error, "internal error: runtime error: hash of unhashable type cel.Semver");
  assert.equal(cost, 4);
});

test("an optional bool is a result", () => {
  const selector = environment.compile("dyn(optional.of(true))");
  assert.ok(selector.ok);
  assert.equal(selector.evaluate(device).matches, true);
});
