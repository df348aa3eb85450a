import assert from "node:assert/strict";
import { test } from "node:test";
import { encodeObject } from "../codec/index.ts";
import { canonicalJSON, decodeJSON, deepFreeze, encodeJSON } from "../index.ts";

const largest = "9223372036854775807";

test("whole numbers beyond 2^53 keep their digits, all others are numbers", () => {
  const table: [text: string, value: unknown][] = [
    [largest, 2n ** 63n - 1n],
    ["-9223372036854775808", -(2n ** 63n)],
    ["9007199254740993", 9007199254740993n],
    ["9007199254740991", 9007199254740991],
    ["1234567890123456", 1234567890123456],
    ["12345678901234567890123", 12345678901234567890123n],
    ["1.2345678901234567", 1.2345678901234567],
    ["1234567890123456e2", 123456789012345600],
    [`"${largest}"`, largest],
    [`{"__proto__":${largest}}`, JSON.parse(`{"__proto__":1}`)],
  ];
  for (const [text, value] of table) {
    const read = decodeJSON(text);
    if (text.includes("__proto__")) assert.deepEqual(Object.keys(read as object), ["__proto__"]);
    else assert.deepEqual(read, value, text);
  }
});

test("a whole number of a million digits is refused at once", { timeout: 10_000 }, () => {
  const digits = "9".repeat(3_000_000);
  for (const text of [digits, `-${digits}`, `{"metadata":{"generation":${digits}}}`]) {
    assert.throws(() => decodeJSON(text), {
      name: "JSONError",
      message: /^json: cannot unmarshal number -?99/,
    });
  }
  assert.equal(decodeJSON("9".repeat(1000)), 10n ** 1000n - 1n);
});

test("values with bigints anywhere round-trip", () => {
  const value = {
    a: [1, { b: 9007199254740993n, c: undefined, d: null }, [], {}],
    "é\u0000": -(2n ** 63n),
    text: 'q"',
  };
  const text = encodeJSON(value);
  assert.equal(
    text,
    '{"a":[1,{"b":9007199254740993,"d":null},[],{}],"é\\u0000":-9223372036854775808,"text":"q\\""}',
  );
  const { c: _, ...rest } = value.a[1] as { c?: unknown };
  assert.deepEqual(decodeJSON(text), { ...value, a: [1, rest, [], {}] });
  assert.equal(encodeJSON(5n), "5");
});

test("with bigints and without the form is that of JSON.stringify", () => {
  const of = (big: bigint | number): unknown => ({
    a: [big, [], {}, { b: null, c: undefined }, undefined],
    d: "x",
  });
  for (const indent of [0, 2, 4])
    assert.equal(encodeJSON(of(7n), indent), JSON.stringify(of(7), undefined, indent));
});

test("malformed text is a SyntaxError, with large numbers in it or not", () => {
  assert.throws(() => decodeJSON('{"a":'), SyntaxError);
  assert.throws(() => decodeJSON(`{"a":${largest}`), SyntaxError);
});

test("equal values have one text", () => {
  assert.equal(
    canonicalJSON({ b: [2n, undefined, { z: 1, y: undefined }], a: "x" }),
    canonicalJSON({ a: "x", b: [2, null, { z: 1 }] }),
  );
  assert.equal(canonicalJSON({ b: 1, a: { d: true, c: null } }), '{"a":{"c":null,"d":true},"b":1}');
});

test("freezes a value at any depth, but for bytes", () => {
  const value = deepFreeze({ a: [{ b: 1 }], bytes: new Uint8Array(1) });
  assert.ok(Object.isFrozen(value.a[0]) && Object.isFrozen(value.a));
  value.bytes[0] = 7;
  assert.equal(value.bytes[0], 7);
});

test("responses escape what Go's encoding/json escapes", () => {
  const object = { kind: "ControllerRevision", data: { "<k>": "a && b > c\u2028" }, items: [{ a: "&" }] };
  assert.equal(
    encodeObject(object),
    '{"kind":"ControllerRevision","data":{"\\u003ck\\u003e":"a \\u0026\\u0026 b \\u003e c\\u2028"},"items":[{"a":"\\u0026"}]}',
  );
  assert.deepEqual(decodeJSON(encodeObject(object)), object);
});
