import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { deviceEnvironment } from "../index.ts";

const environment = deviceEnvironment({ stored: true });
const attribute = 'device.attributes["d.com"].n';

describe("the maximum cost of a selector", () => {
  const cases: readonly (readonly [expression: string, cost: number | bigint])[] = [
    ["true", 0],
    ['device.driver == ""', 2],
    ['"d" in device.attributes', 3],
    [attribute, 4],
    ['device.driver == "dra.example.com"', 4],
    [`${attribute} > 0`, 5],
    [`${attribute} == "fish"`, 5],
    [`${attribute}.isGreaterThan(semver("1.0.0"))`, 6],
    [`cel.bind(d, device.attributes["d.com"], d.n)`, 15],
    [`${attribute}.includes("fish")`, 68],
    [`1 in ${attribute}`, 68],
    [`${attribute}.exists(x, x > 0)`, 389],
    // The declared size of an indexed capacity is 0.
    ['dyn(device.capacity["d.com"]["m"]) == dyn("abc")', 6],
    // The result of map() has the size of its range, and the sizes of elements are kept.
    ["[device.driver].map(d, d + d)[0] == device.driver", 60],
    ["device.driver.split('.').sortBy(e, e) == []", 9213],
    ["lists.range(10).map(i, i).size() == 10", 164],
    // Costs are unsigned 64-bit integers that saturate; products are computed in floating point.
    ["type(1) == int", 1_844_674_407_370_955_266n],
    ["type(device.driver) == string", 1_844_674_407_370_955_268n],
    ["lists.range(int(device.driver)).size() == 1", 2n ** 64n - 1n],
    // Upstream does not check these sizes for overflow.
    ["strings.quote(type(device.driver) == string ? device.driver : 'a') == ''", 1_844_674_407_370_955_277n],
  ];
  for (const [expression, cost] of cases) {
    test(expression, () => {
      const compiled = environment.compile(expression);
      assert.ok(compiled.ok, compiled.ok ? "" : compiled.error);
      assert.equal(compiled.maxCost, cost);
    });
  }
});
