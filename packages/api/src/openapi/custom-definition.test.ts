import assert from "node:assert/strict";
import { test } from "node:test";
import { customDefinition } from "./custom-definition.ts";
import type { JSONObject } from "./json.ts";

const row = {
  group: "example.com",
  version: "v1",
  kind: "Widget",
  type: "example.com/v1.Widget",
  resource: "widgets",
  namespaced: true,
};
const kinds = [{ group: "example.com", version: "v1", kind: "Widget" }];

function definitionOf(schema: JSONObject | undefined, selectableFields: readonly string[] = []): JSONObject {
  const custom = { name: "com.example.v1.Widget", listKind: "WidgetList", schema, selectableFields };
  const { "x-kubernetes-group-version-kind": published, ...rest } = customDefinition({ row, custom });
  assert.deepEqual(published, kinds);
  return rest;
}

/** The OpenAPI v2 schema of a field, made from its schema in the CRD. */
function fieldOf(schema: JSONObject): unknown {
  const { properties } = definitionOf({ type: "object", properties: { spec: schema } });
  return (properties as JSONObject)["spec"];
}

const metadata = "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

test("a definition has the fields of its schema and those of every object", () => {
  const spec = {
    type: "object",
    description: "Wish.",
    required: ["a"],
    properties: { a: { type: "string" } },
  };
  const schema = { description: "A widget.", type: "object", required: ["spec"], properties: { spec } };
  const { properties, ...rest } = definitionOf(schema, ["spec.a"]);
  assert.deepEqual(rest, {
    description: "A widget.",
    type: "object",
    required: ["spec"],
    "x-kubernetes-selectable-fields": [{ fieldPath: "spec.a" }],
  });
  const {
    spec: published,
    apiVersion,
    kind,
    metadata: meta,
    ...others
  } = properties as Record<string, JSONObject>;
  assert.deepEqual(published, spec);
  assert.deepEqual(others, {});
  // Phrases that clients of every Kubernetes find (test/e2e/apimachinery/crd_publish_openapi.go).
  assert.match(String(apiVersion!["description"]), /^APIVersion defines/);
  assert.match(String(meta!["description"]), /^Standard object's metadata/);
  assert.deepEqual([apiVersion!["type"], kind!["type"], meta!["$ref"]], ["string", "string", metadata]);
});

test("an object without a schema, or with unknown fields, is any object", () => {
  assert.deepEqual(definitionOf(undefined), { type: "object" });
  const preserving = {
    type: "object",
    description: "Any.",
    "x-kubernetes-preserve-unknown-fields": true,
    properties: { spec: { type: "object" } },
  };
  assert.deepEqual(definitionOf(preserving), { type: "object" });
});

const preserve = { "x-kubernetes-preserve-unknown-fields": true };

const fields: Readonly<Record<string, readonly [schema: JSONObject, expected: JSONObject]>> = {
  "unknown fields": [
    { type: "object", description: "Any.", ...preserve, properties: { a: { type: "object" } } },
    { description: "Any.", ...preserve },
  ],
  "a list of unknown fields": [
    { type: "array", items: { ...preserve } },
    { type: "array", items: { ...preserve } },
  ],
  "what may be null": [
    { type: "array", nullable: true, items: { type: "string" }, maxItems: 2 },
    { maxItems: 2 },
  ],
  "alternatives and defaults": [
    { type: "integer", default: 1, oneOf: [{ minimum: 1 }], not: { enum: [2] }, minimum: 0 },
    { type: "integer", minimum: 0 },
  ],
  "a number or a text": [
    { "x-kubernetes-int-or-string": true, anyOf: [{ type: "integer" }, { type: "string" }] },
    { "x-kubernetes-int-or-string": true },
  ],
  "a field that may be null is not required": [
    { type: "object", required: ["a", "b"], properties: { a: { type: "string", nullable: true }, b: {} } },
    { type: "object", required: ["b"], properties: { a: {}, b: {} } },
  ],
  "nor are keys of a map of such values": [
    { type: "object", required: ["a"], additionalProperties: { type: "string", nullable: true } },
    { type: "object", additionalProperties: {} },
  ],
  "a map of anything": [
    { type: "object", additionalProperties: true },
    { type: "object", additionalProperties: true },
  ],
  "an embedded object with unknown fields": [
    { type: "object", "x-kubernetes-embedded-resource": true, ...preserve },
    { "x-kubernetes-embedded-resource": true, ...preserve },
  ],
};

for (const [name, [schema, expected]] of Object.entries(fields)) {
  test(name, () => assert.deepEqual(fieldOf(schema), expected));
}

test("an embedded object has the fields of every object, and says its kind", () => {
  const embedded = {
    type: "object",
    "x-kubernetes-embedded-resource": true,
    required: ["kind", "spec"],
    properties: { spec: { type: "string" } },
  };
  const { properties, ...rest } = fieldOf(embedded) as JSONObject;
  assert.deepEqual(rest, {
    type: "object",
    "x-kubernetes-embedded-resource": true,
    required: ["kind", "spec", "apiVersion"],
  });
  assert.deepEqual(Object.keys(properties as JSONObject), ["spec", "apiVersion", "kind", "metadata"]);
});
