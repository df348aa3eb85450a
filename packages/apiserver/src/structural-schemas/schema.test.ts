import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldErrorText } from "@dray/api";
import { FieldErrors } from "@dray/api/validation";
import { Correlation } from "./correlation.ts";
import { dropNulls, setDefaults } from "./defaulting.ts";
import { fieldPath } from "./field-path.ts";
import { durationOf, hasFormat } from "./formats.ts";
import { checkListTypes } from "./list-types.ts";
import { prune } from "./pruning.ts";
import type { Schema } from "./schema.ts";
import { checkValue } from "./validate.ts";

const texts = (errors: FieldErrors): string[] => errors.list.map((error) => fieldErrorText(error));

test("pruning removes unknown fields, and returns their paths", () => {
  const schema: Schema = {
    type: "object",
    properties: {
      list: { type: "array", items: { type: "object", properties: { a: { type: "string" } } } },
      map: { type: "object", additionalProperties: { type: "object" } },
      free: {
        type: "object",
        "x-kubernetes-preserve-unknown-fields": true,
        properties: { known: { type: "object" } },
      },
    },
  };
  const object = {
    apiVersion: "v1",
    list: [{ a: "x", b: 1 }],
    map: { k: { c: 1 } },
    free: { any: 1, known: { d: 1 } },
    more: 1,
  };
  assert.deepEqual(prune(object, schema, true).sort(), ["free.known.d", "list[0].b", "map.k.c", "more"]);
  assert.deepEqual(object, {
    apiVersion: "v1",
    list: [{ a: "x" }],
    map: { k: {} },
    free: { any: 1, known: {} },
  });
});

test("defaults replace absent fields, and nulls that are not allowed", () => {
  const schema: Schema = {
    type: "object",
    properties: {
      a: { type: "object", default: {}, properties: { b: { type: "integer", default: 1 } } },
      c: { type: "string", default: "x" },
      d: { type: "string", nullable: true, default: "y" },
    },
  };
  const object = { c: null, d: null };
  dropNulls(object, schema);
  setDefaults(object, schema);
  assert.deepEqual(object, { a: { b: 1 }, c: "x", d: null });
});

test("lists of type set and map have no duplicates", () => {
  const set: Schema = { type: "array", items: { type: "number" }, "x-kubernetes-list-type": "set" };
  const map: Schema = {
    type: "array",
    items: { type: "object" },
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["k"],
  };
  const schema: Schema = { type: "object", properties: { set, map } };
  const errors = new FieldErrors({ release: "1.36" });
  checkListTypes(errors, schema, { set: [1, 2, 1], map: [{ k: "a" }, { k: "a", v: 1 }, { k: "b" }] });
  assert.deepEqual(texts(errors), ["set[2]: Duplicate value: 1", 'map[1]: Duplicate value: {"k":"a"}']);
});

test("values are validated with upstream's messages", () => {
  const schema: Schema = {
    type: "object",
    required: ["a"],
    properties: {
      n: { type: "integer", minimum: 1, multipleOf: 2 },
      e: { type: "string", enum: ["x", "y"] },
      l: { type: "array", maxItems: 1, items: { type: "string" } },
      f: { type: "string", format: "date-time" },
    },
  };
  const errors = new FieldErrors({ release: "1.36" });
  checkValue(errors, schema, { n: 0.5, e: "z", l: ["a", "b"], f: "today" });
  assert.deepEqual(texts(errors).sort(), [
    '<nil>: Invalid value: "": Checked value must be of type integer (default format) in n',
    "a: Required value",
    'e: Unsupported value: "z": supported values: "x", "y"',
    'f: Invalid value: "today": f in body must be of type date-time: "today"',
    "l: Too many: 2: must have at most 1 item",
    'n: Invalid value: "number": n in body must be of type integer: "number"',
    "n: Invalid value: 0.5: n in body should be a multiple of 2",
    "n: Invalid value: 0.5: n in body should be greater than or equal to 1",
  ]);
});

test("unchanged values of an update are not rejected", () => {
  const schema: Schema = {
    type: "object",
    properties: { a: { type: "string", maxLength: 2 }, b: { type: "string", maxLength: 2 } },
  };
  const [object, old] = [
    { a: "long", b: "long" },
    { a: "long", b: "x" },
  ];
  const errors = new FieldErrors({ release: "1.36" });
  checkValue(errors, schema, object, new Correlation(object, old, schema));
  assert.deepEqual(texts(errors), ["b: Too long: may not be more than 2 bytes"]);
});

test("a field path is resolved in the schema, or returns its error", () => {
  const schema: Schema = {
    type: "object",
    properties: {
      a: { type: "object", additionalProperties: { type: "string" } },
      b: { type: "object", properties: { "c.d": { type: "string" } } },
    },
  };
  const found = (text: string): string => {
    const field = fieldPath(text, schema);
    return typeof field === "string" ? field : field.path;
  };
  assert.equal(found(".a['k']"), "a[k]");
  assert.equal(found(".b['c.d']"), "b.c.d");
  assert.match(found(".b.none"), /does not refer to a valid field/);
  assert.match(found("b"), /^expected \[ or \. but got: b$/);
  assert.equal(fieldPath(".a['k']", schema, false), "array notation is not allowed");
});

test("formats are those of upstream's library", () => {
  const cases: readonly (readonly [string, string, boolean])[] = [
    ["date", "2024-02-29", true],
    ["date", "2023-02-29", false],
    ["datetime", "2024-01-01T00:00:00Z", true],
    ["datetime", "2024-01-01", false],
    ["ipv4", "10.0.0.1", true],
    ["ipv4", "::1", false],
    ["uuid", "not one", false],
    ["byte", "YQ==", true],
    ["byte", "?", false],
    ["nobody knows it", "?", true],
  ];
  for (const [name, text, fits] of cases) assert.equal(hasFormat(name, text), fits, `${name} ${text}`);
  assert.equal(durationOf("1h30m"), 5_400_000_000_000n);
  assert.equal(durationOf("2 days"), 172_800_000_000_000n);
  assert.equal(durationOf("soon"), undefined);
});

test("defaults that make an object huge are an error, before they take memory", () => {
  const item: Schema = { type: "object", properties: { a: { type: "string", default: "x".repeat(10_000) } } };
  const schema: Schema = { type: "object", properties: { list: { type: "array", items: item } } };
  const objectOf = (count: number) => ({ list: Array.from({ length: count }, (): { a?: string } => ({})) });
  const small = objectOf(100);
  setDefaults(small, schema);
  assert.equal(small.list[99]?.a?.length, 10_000);
  const large = objectOf(100_000);
  assert.throws(() => setDefaults(large, schema), {
    message: "the defaults of the schema of this custom resource add more than 32 MiB to one object",
  });
  assert.equal(large.list.filter(({ a }) => a !== undefined).length, 3354);
  // Nested defaults count too.
  const doubled = (levels: number): Schema =>
    levels === 0
      ? { type: "string", default: "x".repeat(1000) }
      : { type: "object", default: {}, properties: { a: doubled(levels - 1), b: doubled(levels - 1) } };
  assert.throws(
    () => setDefaults({ spec: {} }, { type: "object", properties: { spec: doubled(17) } }),
    /32 MiB/,
  );
});

test("patterns of large programs are not searched in long texts, all texts of an object together", () => {
  const schema: Schema = { type: "array", items: { type: "string", pattern: "(?:a?){1000}a{1000}$" } };
  const problems = (value: unknown): string[] => {
    const errors = new FieldErrors({ release: "1.36" });
    checkValue(errors, schema, value);
    return texts(errors);
  };
  const slow = /should match '\(\?:a\?\)\{1000\}a\{1000\}\$', which takes too long to find out/;
  const [problem = ""] = problems([`${"a".repeat(100_000)}!`]);
  assert.match(problem, slow);
  assert.deepEqual(problems(["a".repeat(1000)]), []);
  const many = problems(Array.from({ length: 3 }, () => `${"a".repeat(999)}é`));
  assert.deepEqual(
    many.map((one) => slow.test(one)),
    [false, true, true],
  );
  // Small programs take long texts.
  const base64: Schema = { type: "string", pattern: "^[A-Za-z0-9+/]*$" };
  const errors = new FieldErrors({ release: "1.36" });
  checkValue(errors, base64, "A".repeat(1_400_000));
  assert.deepEqual(texts(errors), []);
});

test("durations without units are rejected in time proportional to their length", () => {
  const digits = "1".repeat(1_000_000);
  assert.equal(hasFormat("duration", digits), false);
  assert.equal(hasFormat("duration", `${digits}h`), false);
  assert.equal(hasFormat("duration", "1 ".repeat(500_000)), false);
  assert.equal(durationOf("12 3 days"), 3n * 86_400_000_000_000n);
});
