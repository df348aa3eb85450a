import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldErrorText } from "@dray/api";
import type { FieldErrors } from "@dray/api/validation";
import { inPieces } from "../../../request/pieces.ts";
import type { Definition } from "./types.ts";
import { validateDefinition, validateDefinitionUpdate } from "./validate.ts";

const texts = (errors: FieldErrors): string[] => errors.list.map((error) => fieldErrorText(error));

function definition(spec: object, version: object = {}, more: object = {}): Definition {
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "widgets.example.com" },
    spec: {
      group: "example.com",
      scope: "Namespaced",
      names: { plural: "widgets", singular: "widget", kind: "Widget", listKind: "WidgetList" },
      versions: [
        {
          name: "v1",
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: "object", properties: { spec } } },
          ...version,
        },
      ],
      ...more,
    },
    status: { storedVersions: ["v1"] },
  } as unknown as Definition;
}

const plain = { type: "object" };
const schemaAt = "spec.validation.openAPIV3Schema.properties[spec]";

/** Returns the errors of the schema of spec, without its path. */
const refused = (spec: object): string[] =>
  texts(validateDefinition(definition(spec), "1.36")).map((text) => text.replace(schemaAt, "@"));

test("schemas must be structural", () => {
  assert.deepEqual(refused(plain), []);
  assert.deepEqual(refused({ type: "object", properties: { a: {} } }), [
    "@.properties[a].type: Required value: must not be empty for specified object fields",
  ]);
  assert.deepEqual(refused({ type: "object", anyOf: [{ properties: { a: { type: "string" } } }] }), [
    "@.anyOf[0].properties[a].type: Forbidden: must be empty to be structural",
  ]);
});

test("an error shows a schema whose list of items is empty", () => {
  // Decoding leaves null of `items: []`.
  const openAPIV3Schema = { type: "object", allOf: [{ items: null }] };
  const version = { schema: { openAPIV3Schema }, subresources: { status: {} } };
  const [first = ""] = texts(validateDefinition(definition(plain, version), "1.36"));
  assert.match(first, /"Items":\{"Schema":null,"JSONSchemas":\[\]\}/);
});

test("defaults must be values of their schema", () => {
  assert.deepEqual(refused({ type: "object", properties: { a: { type: "string", default: 1 } } }), [
    '@.properties[a].default: Invalid value: "integer":  in body must be of type string: "integer"',
  ]);
});

test("keys of lists are required or have defaults", () => {
  const list = (item: object): object => ({
    type: "object",
    properties: {
      l: {
        type: "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["k"],
        items: { type: "object", properties: { k: { type: "string" } }, ...item },
      },
    },
  });
  assert.deepEqual(refused(list({ required: ["k"] })), []);
  assert.match(
    refused(list({})).join(),
    /@\.properties\[l\]\.items\.properties\[k\]\.default: Required value/,
  );
});

test("patterns and rules must compile, and rules must be cheap", () => {
  assert.match(
    refused({ type: "string", pattern: "(" }).join(),
    /^@\.pattern: Invalid value: "\(": must be a valid regular expression/,
  );
  const [text = ""] = refused({ type: "object", "x-kubernetes-validations": [{ rule: "self.x" }] });
  assert.match(text, /^@\.x-kubernetes-validations\[0\]\.rule: .*undefined field 'x'/s);
  const nested = {
    type: "array",
    items: {
      type: "array",
      items: { type: "string", "x-kubernetes-validations": [{ rule: "self.contains('a')" }] },
    },
  };
  assert.match(
    refused({ type: "object", properties: { nested } }).join(),
    /estimated rule cost exceeds budget/,
  );
});

test("paths of columns, subresources and selectable fields must exist", () => {
  const version = {
    additionalPrinterColumns: [{ name: "a", type: "text", jsonPath: "x" }],
    subresources: { scale: { specReplicasPath: ".x", statusReplicasPath: ".status.x" } },
    selectableFields: [{ jsonPath: ".spec.none" }],
  };
  assert.deepEqual(
    texts(validateDefinition(definition(plain, version), "1.36")).map((text) => text.split(": ")[0]),
    [
      "spec.subresources.scale.specReplicasPath",
      "spec.additionalPrinterColumns[0].type",
      "spec.additionalPrinterColumns[0].JSONPath",
      "spec.selectableFields[0].jsonPath",
    ],
  );
});

test("conversion webhooks must have an address", () => {
  const webhook = (clientConfig: object): string[] =>
    texts(
      validateDefinition(
        definition(
          plain,
          {},
          {
            conversion: {
              strategy: "Webhook",
              webhook: { conversionReviewVersions: ["v1"], clientConfig },
            },
          },
        ),
        "1.36",
      ),
    );
  assert.deepEqual(webhook({ url: "https://example.com/convert" }), []);
  assert.match(webhook({ url: "http://example.com" }).join(), /'https' is the only allowed URL scheme/);
  assert.match(webhook({}).join(), /exactly one of url or service is required/);
});

test("stored versions cannot be removed, and the group is immutable", () => {
  const stored = { ...definition(plain), status: { storedVersions: ["v0", "v1"] } } as Definition;
  assert.match(
    texts(validateDefinitionUpdate(stored, definition(plain), "1.36")).join(),
    /^status\.storedVersions\[0\]: Invalid value: "v0": missing from spec\.versions/,
  );
  const moved = definition(plain, {}, { group: "other.example.com" });
  assert.match(
    texts(validateDefinitionUpdate(moved, definition(plain), "1.36")).join(),
    /spec\.group: Invalid value: "other\.example\.com": field is immutable/,
  );
});

test("a definition that is validated in pieces has the same errors", async () => {
  const rules = (...texts: string[]): object => ({
    "x-kubernetes-validations": texts.map((rule) => ({ rule })),
  });
  const stored = definition({
    type: "object",
    properties: { a: { type: "string", ...rules("self == 'a'") } },
  });
  const definitions = [
    stored,
    definition({ type: "object", properties: { a: {}, b: { type: "string", default: 1 } } }),
    definition({
      type: "object",
      properties: {
        a: { type: "string", ...rules("self ==", "self == 'b'", "oldSelf == self", "") },
        b: { type: "array", items: { type: "string", ...rules("oldSelf == self", "self.matches('(')") } },
        c: { type: "array", items: { type: "string" }, ...rules("self.all(x, self.all(y, x == y))") },
      },
    }),
    definition(plain, { schema: { openAPIV3Schema: { type: "array", uniqueItems: true } } }),
  ];
  let count = 0;
  const pause = async (): Promise<void> => void count++;
  const pauses = Object.assign(pause, { isDue: () => true, begin: () => () => true, isLarge: true });
  for (const one of definitions) {
    const created = await inPieces(pauses, (step) => texts(validateDefinition(one, "1.36", step)));
    assert.deepEqual(created, texts(validateDefinition(one, "1.36")));
    const updated = await inPieces(pauses, (step) =>
      texts(validateDefinitionUpdate(one, stored, "1.36", step)),
    );
    assert.deepEqual(updated, texts(validateDefinitionUpdate(one, stored, "1.36")));
    assert.ok(count >= 8, `${count} pauses`);
    count = 0;
  }
});
