import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import fc from "fast-check";
import { canonicalQuantity, Quantity, QuantityError } from "../index.ts";

/** Results of Go's resource.ParseQuantity, 0.37.2. */
interface Recorded {
  readonly input: string;
  readonly error?: string;
  readonly canonical?: string;
  readonly format?: string;
  readonly decimal?: string;
}

const recorded = readFileSync(new URL("./testdata/quantities.jsonl", import.meta.url), "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as Recorded);

describe("texts read as Go reads them", () => {
  for (const { input, error, canonical, format, decimal } of recorded) {
    test(JSON.stringify(input), () => {
      if (error !== undefined) {
        assert.throws(() => Quantity.parse(input), { name: "QuantityError", message: error });
        return;
      }
      const quantity = Quantity.parse(input);
      assert.deepEqual([quantity.toString(), quantity.format], [canonical, format]);
      // The exact value, which Go writes as a plain decimal.
      assert.ok(quantity.equals(Quantity.parse(decimal ?? "")), decimal);
    });
  }
});

describe("arithmetic", () => {
  const q = (text: string): Quantity => Quantity.parse(text);
  test("adds and subtracts exactly across units", () => {
    assert.equal(q("1Gi").add(q("512Mi")).toString(), "1536Mi");
    assert.equal(q("100m").add(q("0.9")).toString(), "1");
    assert.equal(q("80Gi").sub(q("1")).toString(), "85899345919");
    assert.equal(q("0").add(q("1Gi")).toString(), "1Gi");
  });
  test("compares without writing huge numbers out", () => {
    assert.equal(q("1e1000000000").compare(q("9Ei")), 1);
    assert.equal(q("-1e1000000000").compare(q("1")), -1);
    assert.equal(q("1024Mi").compare(q("1Gi")), 0);
    assert.equal(q("999m").compare(q("1")), -1);
  });
  test("rounds away from zero", () => {
    assert.deepEqual([q("1001m").value(), q("-1001m").value(), q("0.1n").milliValue()], [2n, -2n, 1n]);
    assert.equal(q("1.0001").roundUp(-3).toString(), "1001m");
  });
  test("a sum less a part is the other part", () => {
    const part = fc.tuple(fc.bigInt(-(10n ** 20n), 10n ** 20n), fc.constantFrom("m", "", "k", "Ki", "Mi"));
    fc.assert(
      fc.property(part, part, ([a, unitA], [b, unitB]) => {
        const [left, right] = [Quantity.of(a).multiply(unit(unitA)), Quantity.of(b).multiply(unit(unitB))];
        assert.ok(left.add(right).sub(right).equals(left));
      }),
    );
  });
});

function unit(suffix: string): bigint {
  return suffix === "m" || suffix === "" ? 1n : Quantity.parse(`1${suffix}`).value();
}

test("a stored quantity is canonical, whether it came as text or number", () => {
  assert.deepEqual(["0.5", "1024Ki", "1e3", "+5", " 10 "].map(canonicalQuantity), [
    "500m",
    "1Mi",
    "1e3",
    "+5",
    "10",
  ]);
  assert.equal(canonicalQuantity(0.25), "250m");
  assert.throws(() => canonicalQuantity("ten"), QuantityError);
});

test("a quantity that is larger than all others is computed with at once", () => {
  const huge = Quantity.parse("1e999999999");
  assert.ok(huge.value() > 2n ** 63n && huge.milliValue() > 2n ** 63n);
  assert.ok(huge.add(Quantity.parse("1m")).compare(Quantity.parse("1E")) > 0);
  assert.equal(String(huge), "1e999999999");
});

test("rejects a long malformed quantity at once", { timeout: 10_000 }, () => {
  for (const text of [`${"1".repeat(1_000_000)}x`, `${"0".repeat(1_000_000)}x`, `1${"e".repeat(1_000_000)}x`])
    assert.throws(() => Quantity.parse(text), QuantityError);
});

test("rejects a quantity of more than a thousand digits at once", { timeout: 10_000 }, () => {
  const message = "a quantity must not have more than 1000 digits";
  for (const text of [
    "9".repeat(3_000_000),
    `1${"0".repeat(300_000)}`,
    `0.${"3".repeat(1001)}`,
    `${"9".repeat(1001)}Ki`,
  ]) {
    assert.throws(() => Quantity.parse(text), { name: "QuantityError", message });
  }
  assert.equal(String(Quantity.parse(`${"0".repeat(5000)}1${"0".repeat(999)}`)), `1e999`);
});

test("a quantity times another keeps the form of the first", () => {
  const product = (a: string, b: string): string => Quantity.parse(a).scale(Quantity.parse(b)).toString();
  assert.equal(product("4Gi", "2"), "8Gi");
  assert.equal(product("1Gi", "500m"), "512Mi");
  assert.equal(product("3", "250m"), "750m");
  assert.equal(product("1n", "500m"), "1n");
  assert.equal(product("-2", "1500m"), "-3");
});
