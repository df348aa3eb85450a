import assert from "node:assert/strict";
import { test } from "node:test";
import { type Pauses, parseJSONInPieces, parseJSONTree } from "../json/parser.ts";
import { decodeProtobuf, decodeProtobufInPieces, encodeProtobuf } from "./protobuf/envelope.ts";

/** Asks for a pause wherever it may, and counts them. */
function pauses(): { readonly pause: Pauses; readonly count: () => number } {
  let count = 0;
  const pause = Object.assign(
    async () => {
      count++;
    },
    { isDue: () => true },
  );
  return { pause, count: () => count };
}

const keys = (count: number, value: (index: number) => unknown = (index) => `v${index}`): object =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, value(index)]));
const list = <T>(count: number, item: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => item(index));

test("JSON that is read in pieces gives the same tree and notes", async () => {
  const texts = [
    JSON.stringify({ a: keys(5000), b: list(5000, (index) => [index, { c: null }]) }),
    `[${"1.0, 1e3,".repeat(3000)} 1]`,
    `{"x": {${'"a": 1, '.repeat(3000)}"b": 2.0}}`,
    `[${list(10, () => "[".repeat(300) + "1".padEnd(301, "]")).join()}]`,
  ];
  for (const text of texts) {
    const { pause, count } = pauses();
    assert.deepEqual(await parseJSONInPieces(text, 1e6, pause), parseJSONTree(text));
    assert.ok(count() >= 2, text.slice(0, 20));
  }
  const numbers = await parseJSONInPieces(texts[1]!, 1e6, pauses().pause);
  assert.equal(numbers.notes.literalOf(numbers.value as object, 5999), "1e3");
  const repeated = await parseJSONInPieces(texts[2]!, 1e6, pauses().pause);
  const { x } = repeated.value as { x: object };
  assert.equal(repeated.notes.duplicateKeys(x).length, 2999);
  assert.equal(repeated.notes.literalOf(x, "b"), "2.0");
});

test("JSON that is read in pieces has the same errors", async () => {
  for (const text of ["", "[1, 2", `[${"1,".repeat(5000)}x]`, `{"a": [${"[],".repeat(5000)}[}`, "1 2"]) {
    let expected: unknown;
    try {
      parseJSONTree(text);
    } catch (error) {
      expected = error;
    }
    await assert.rejects(parseJSONInPieces(text, 1e6, pauses().pause), expected as Error);
  }
  await assert.rejects(parseJSONInPieces(JSON.stringify(keys(5000)), 4999, pauses().pause), { limit: 4999 });
});

const schema = (depth: number): object => ({
  type: "object",
  properties: {
    ...keys(300, () => ({ type: "string", description: "text" })),
    ...(depth === 0 ? {} : { deeper: schema(depth - 1), list: { type: "array", items: schema(depth - 1) } }),
  },
});
const large = {
  "keys of the object": { apiVersion: "v1", kind: "ConfigMap", metadata: {}, data: keys(5000) },
  "labels and managedFields, which are JSON": {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: {
      labels: keys(5000),
      managedFields: [
        { manager: "a", operation: "Update", fieldsType: "FieldsV1", fieldsV1: keys(5000, () => ({})) },
        { manager: "b", operation: "Update", fieldsType: "FieldsV1", fieldsV1: { "f:data": {} } },
      ],
    },
  },
  "messages within messages": {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p" },
    spec: {
      containers: list(20, (index) => ({
        name: `c${index}`,
        image: "i",
        env: list(2000, (variable) => ({ name: `E${variable}`, value: "v" })),
        args: list(500, (argument) => `${argument}`),
      })),
      nodeSelector: keys(5000),
    },
  },
  "alternatives: a schema or a list of them": {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "things.example.com" },
    spec: {
      group: "example.com",
      names: { kind: "Thing", plural: "things" },
      scope: "Namespaced",
      versions: [
        { name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schema(4) } },
        { name: "v2", served: true, storage: false, schema: { openAPIV3Schema: schema(2) } },
      ],
    },
  },
};

for (const [name, object] of Object.entries(large))
  test(`protobuf that is read in pieces gives the same object: ${name}`, async () => {
    const bytes = encodeProtobuf(object);
    const expected = { apiVersion: "", kind: "" };
    const { pause, count } = pauses();
    const read = await decodeProtobufInPieces(bytes, undefined, expected, pause);
    assert.deepEqual(read.object, decodeProtobuf(bytes).object);
    assert.ok(count() > 3, `${count()} pauses`);
    const ends = list(20, (index) => Math.floor((bytes.length * index) / 20));
    for (const end of ends) {
      let error: unknown;
      try {
        decodeProtobuf(bytes.subarray(0, end));
      } catch (thrown) {
        error = thrown;
      }
      if (error === undefined) continue;
      const again = decodeProtobufInPieces(bytes.subarray(0, end), undefined, expected, pause);
      await assert.rejects(again, error as Error);
    }
  });

test("an entry whose value is there several times is not read again and again", async () => {
  const varint = (value: number): number[] =>
    value < 128 ? [value] : [(value & 127) | 128, ...varint(value >>> 7)];
  const field = (number: number, ...parts: readonly Uint8Array[]): Buffer => {
    const bytes = Buffer.concat(parts);
    return Buffer.concat([Uint8Array.from([...varint(number * 8 + 2), ...varint(bytes.length)]), bytes]);
  };
  // JSONSchemaProps.default, a JSON, in an entry of JSONSchemaProps.properties.
  const value = field(2, field(8, field(1, Buffer.from(JSON.stringify(list(50_000, () => 0))))));
  const entry = field(29, field(1, Buffer.from("a")), ...list(12, () => value));
  // spec, versions, schema and openAPIV3Schema of a definition.
  const definition = field(2, field(7, field(4, field(1, entry))));
  const typeMeta = field(
    1,
    field(1, Buffer.from("apiextensions.k8s.io/v1")),
    field(2, Buffer.from("CustomResourceDefinition")),
  );
  const bytes = Buffer.concat([Buffer.from("k8s\0"), typeMeta, field(2, definition)]);
  const { pause, count } = pauses();
  const expected = { apiVersion: "", kind: "" };
  const read = await decodeProtobufInPieces(bytes, undefined, expected, pause);
  assert.deepEqual(read.object, decodeProtobuf(bytes).object);
  assert.ok(count() < 100, `${count()} pauses`);
});
