import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { deviceEnvironment } from "../index.ts";

const environment = deviceEnvironment({ stored: true });
const strict = deviceEnvironment({ stored: false });

describe("hints suggest the probable expression", () => {
  const cases: readonly (readonly [expression: string, hint: string])[] = [
    ['device.attributes["vendor.com/vram-gb"] > 20', 'device.attributes["vendor.com"]["vram-gb"]'],
    ['device.attributes["model"] == "a"', 'device.attributes["DOMAIN"].model'],
    ['device.attributes["vendor.com"] == "a"', 'device.attributes["vendor.com"].NAME'],
    ['device.capacity["v.com/memory"].compareTo(quantity("1")) > 0', 'device.capacity["v.com"].memory'],
    ['device.model == "a"', 'device.attributes["DOMAIN"].model'],
    ['device.attribute["v.com"].model == "a"', "device.attributes"],
    ['attributes["v.com"].model == "a"', "device.attributes"],
    ['device.attributes["v.com"].vram-gb > 1', 'device.attributes["v.com"]["vram-gb"]'],
    ['device.capacity["v.com"].memory >= "40Gi"', 'compareTo(quantity("40Gi")) >= 0'],
    ['device.capacity["v.com"].memory > 40', 'isGreaterThan(quantity("40"))'],
    ['device.capacity["v.com"].memory.isGreaterThan("40Gi")', 'quantity("40Gi")'],
    ['device.capacity["v.com"].memory.value > 40', "methods and no fields"],
    ['quantity("1").sign() > 0', "sign(x)"],
    ['semver("1.2.3") >= "1.2.0"', 'compareTo(semver("1.2.0"))'],
    ['device.driver = "a"', "`==` for `=`"],
    ['device.driver === "a"', "`==` for `===`"],
    ['device.driver <> "a"', "`!=` for `<>`"],
    ['device.driver == "a" and true', "`&&` for `and`"],
    ["true OR false", "`||` for `OR`"],
    ["not true", "`!` for `not`"],
    ["true & true", "`&&` for `&`"],
    ["device.driver == “a”", "straight quotes"],
    ["1 == 1.0", "same type on both sides"],
    ["device.driver", "device.driver == …"],
    ['device.attributes["v.com"]', 'device.attributes["v.com"].NAME'],
    ['device.capacity["v.com"].memory', 'device.capacity["v.com"].memory.isGreaterThan('],
  ];
  for (const [expression, hint] of cases) {
    test(expression, () => {
      const compiled = environment.compile(expression);
      assert.ok(!compiled.ok);
      assert.equal(compiled.hints.length, 1, compiled.hints.join("\n"));
      assert.ok(compiled.hints[0]!.includes(hint), compiled.hints[0]);
      assert.ok(!compiled.error.includes(compiled.hints[0]!), "the error itself stays upstream's");
    });
  }

  test("a hint names a disabled feature gate", () => {
    const [shares, lists] = ["device.allowMultipleAllocations", "[1].includes(1)"].map((expression) => {
      const compiled = strict.compile(expression);
      return compiled.ok ? "" : compiled.hints.join();
    });
    assert.match(shares!, /DRAConsumableCapacity/);
    assert.match(lists!, /DRAListTypeAttributes/);
  });

  test("an undeclared name has no hint", () => {
    const compiled = environment.compile("nosuch == 1");
    assert.deepEqual(compiled.ok ? undefined : compiled.hints, []);
  });
});

describe("warnings report valid expressions that are probably wrong", () => {
  const cases: readonly (readonly [expression: string, warning: string])[] = [
    ['device.attributes["v.com/x"].y == 1', 'device.attributes["v.com"].x'],
    ['"v.com/x" in device.attributes', '"x" in device.attributes["v.com"]'],
    ['device.attributes["v.com"]["v.com/x"] == 1', 'device.attributes["v.com"].x'],
    ["has(device.attributes.model)", '"model" in device.attributes'],
    ['device.attributes.gpu.example.com.model == "a"', 'device.attributes["gpu.example.com"].model'],
    ['device.attributes["v.com"].model.name == "a"', "an attribute has no fields"],
    ['device.attributes["v.com"].version >= "1.2.3"', 'compareTo(semver("1.2.3")) >= 0'],
    ['device.attributes["v.com"].count > "12"', "without quotes"],
    ['device.driver == "gpu.example.com" && device.attributes["gpu.exmaple.com"].a == 1', "gpu.exmaple.com"],
  ];
  for (const [expression, warning] of cases) {
    test(expression, () => {
      const compiled = environment.compile(expression);
      assert.ok(compiled.ok);
      assert.equal(compiled.warnings.length, 1, compiled.warnings.join("\n"));
      assert.ok(compiled.warnings[0]!.includes(warning), compiled.warnings[0]);
    });
  }

  test("plausible selectors have no warnings", () => {
    for (const expression of [
      'device.driver == "gpu.example.com" && device.attributes["gpu.example.com"].model == "a100"',
      'device.attributes["other.org"].numaNode == 1 && device.driver == "gpu.example.com"',
      'has(device.attributes["v.com"].model) && device.attributes["v.com"].?model.orValue("") >= "a"',
      'device.capacity["v.com"].memory.compareTo(quantity("40Gi")) >= 0',
    ]) {
      const compiled = environment.compile(expression);
      assert.deepEqual(compiled.ok ? compiled.warnings : compiled.error, [], expression);
    }
  });
});
