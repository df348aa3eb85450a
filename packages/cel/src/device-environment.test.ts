import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type DeviceInput, deviceEnvironment, type Evaluation } from "./index.ts";

const environment = deviceEnvironment({ stored: true });
const device: DeviceInput = {
  driver: "gpu.example.com",
  attributes: {
    model: { string: "a100" },
    "other.example.com/model": { string: "h100" },
    count: { int: 4n },
  },
  capacity: { memory: { value: "80Gi" } },
};

function problem(expression: string): string {
  const compiled = environment.compile(expression);
  assert.ok(!compiled.ok, `${expression.slice(0, 100)} compiles`);
  return compiled.error;
}

function run(expression: string, costLimit?: number): Evaluation {
  const compiled = environment.compile(expression);
  assert.ok(compiled.ok, compiled.ok ? "" : compiled.error);
  return compiled.evaluate(device, costLimit === undefined ? {} : { costLimit });
}

describe("positions of errors", () => {
  const places: readonly (readonly [string, string])[] = [
    ["nosuch", "1:1"],
    ["1 == 1 && nosuch", "1:11"],
    ["nosuch(1)", "1:7"],
    ["1 + true", "1:3"],
    ["device.nosuch", "1:7"],
    ["true &&\n  nosuch", "2:3"],
    ["'日本' == nosuch", "1:9"],
    ["(true", "1:6"],
    ["", "1:0"],
  ];
  for (const [expression, place] of places) {
    test(JSON.stringify(expression), () => {
      assert.match(problem(expression), new RegExp(`ERROR: <input>:${place}: `));
    });
  }

  test("the caret is below the error, also behind wide characters", () => {
    const lines = problem("'日本' == nosuch").split("\n");
    assert.equal(lines[1], " | '日本' == nosuch");
    assert.equal(lines[2], " | .．．.....^");
  });

  test("errors are sorted by position", () => {
    assert.deepEqual(problem("first == second").match(/'\w+'/g), ["'first'", "'second'"]);
  });

  test("deep nesting is an error, not a stack overflow", () => {
    assert.match(problem(`${"(".repeat(50_000)}true`), /recursion limit exceeded: 250/);
    assert.match(problem(`${"[".repeat(50_000)}true`), /recursion limit exceeded: 250/);
  });
});

describe("errors at run time", () => {
  const missing = 'device.attributes["gpu.example.com"].nosuch == "x"';

  test("the other operand of a logical operator absorbs them", () => {
    assert.equal(run(`${missing} || true`).matches, true);
    assert.equal(run(`true || ${missing}`).matches, true);
    assert.equal(run(`${missing} && false`).matches, false);
  });

  test("are the result if the other operand does not decide", () => {
    assert.match(run(`${missing} || false`).error ?? "", /^no such key: nosuch\./);
    assert.match(run(`${missing} && true`).error ?? "", /^no such key: nosuch\./);
  });

  test("the first of two is reported", () => {
    assert.equal(run("2 % 0 == 1 || 1 / 0 == 1").error, "modulus by zero");
  });

  test("all() and exists() absorb them per element", () => {
    assert.equal(run("[0, 1].exists(x, 1 / x == 1)").matches, true);
    assert.equal(run("[0, 2].all(x, 1 / x == 1)").matches, false);
    assert.equal(run("[0, 1].exists_one(x, 1 / x == 1)").error, "division by zero");
  });
});

describe("names of attributes", () => {
  test("a bare name belongs to the driver's domain", () => {
    assert.equal(run('device.attributes["gpu.example.com"].model == "a100"').matches, true);
    assert.equal(run('device.attributes["other.example.com"].model == "h100"').matches, true);
  });

  test("a missing domain is an empty map", () => {
    assert.equal(run('has(device.attributes["nosuch"].model)').matches, false);
    assert.equal(run('"nosuch" in device.attributes').matches, false);
  });

  test("an invalid attribute fails every expression", () => {
    const compiled = environment.compile("true");
    assert.ok(compiled.ok);
    const result = compiled.evaluate({ driver: "d", attributes: { v: { version: "1" } } });
    assert.match(result.error ?? "", /^attribute v: parse semantic version: /);
  });

  test("properties of JavaScript objects are not attributes", () => {
    assert.equal(run('has(device.attributes["gpu.example.com"].constructor)').matches, false);
    assert.equal(run('"toString" in device.attributes["gpu.example.com"]').matches, false);
  });
});

describe("has()", () => {
  test("of an optional field stays an optional value in a branch", () => {
    assert.equal(run("has(device.?attributes.d)").matches, true);
    assert.deepEqual(run("(true ? has(device.?attributes.d) : false) == true"), { matches: false, cost: 2 });
  });
});

describe("costs", () => {
  test("the cost may equal the limit", () => {
    const expression = 'device.attributes["gpu.example.com"].model == "a100"';
    const { cost } = run(expression);
    assert.equal(cost, 5);
    assert.equal(run(expression, 5).matches, true);
    assert.equal(run(expression, 4).error, "operation cancelled: actual cost limit exceeded");
  });

  test("a loop ends at the limit", () => {
    const many = "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]";
    const loops = ["a", "b", "c", "d", "e", "f", "g"].reduceRight(
      (body, v) => `${many}.all(${v}, ${body})`,
      "true",
    );
    const compiled = environment.compile(loops);
    assert.ok(compiled.ok);
    assert.ok(compiled.maxCost > 1_000_000);
    const result = compiled.evaluate(device);
    assert.equal(result.error, "operation cancelled: actual cost limit exceeded");
    assert.ok(result.cost < 1_000_100);
  });
});

test("quadratic work is charged before it starts", () => {
  const before = process.cpuUsage();
  const result = run("lists.range(900000).distinct().size() == 0");
  assert.equal(result.error, "operation cancelled: actual cost limit exceeded");
  const { user, system } = process.cpuUsage(before);
  // Microseconds. The work itself would take minutes.
  assert.ok(user + system < 5_000_000);
});

test("functions and variables of disabled feature gates are undeclared", () => {
  const bare = deviceEnvironment({ stored: false });
  assert.equal(bare.compile("device.allowMultipleAllocations").ok, false);
  assert.equal(bare.compile("[1].includes(1)").ok, false);
  const all = deviceEnvironment({
    stored: false,
    features: { consumableCapacity: true, listTypeAttributes: true },
  });
  assert.equal(all.compile("device.allowMultipleAllocations").ok, true);
  assert.equal(all.compile("[1].includes(1)").ok, true);
});

test("the result must have the type bool or that of an attribute", () => {
  assert.equal(problem("1"), "must evaluate to bool or the unknown type, not int");
});
