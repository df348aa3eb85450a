import assert from "node:assert/strict";
import test from "node:test";
import { looseText } from "../json/parser.ts";
import { cameEmpty } from "./empty.ts";
import { decodeAs, parseJSON } from "./index.ts";

const type = "resource/v1.ResourceSliceSpec";

test("a list that came empty is left out, but known", () => {
  const { object } = decodeAs(parseJSON('{"driver":"d","pool":{},"devices":[]}'), type);
  assert.equal("devices" in object, false);
  assert.equal(cameEmpty(object, "devices"), true);
  assert.equal(cameEmpty(object, "sharedCounters"), false);
});

test("a list that is always written is null once it has been stored empty", () => {
  const sent = parseJSON('{"rules":[]}');
  assert.deepEqual(decodeAs(sent, "rbac/v1.Role", undefined, { stored: true }).object["rules"], null);
  assert.deepEqual(decodeAs(sent, "rbac/v1.Role").object["rules"], []);
});

test("raw JSON with blanks keeps its text, compact JSON does not", () => {
  const opaque = (text: string): object => {
    const { object } = decodeAs(parseJSON(text), "resource/v1.OpaqueDeviceConfiguration");
    return object["parameters"] as object;
  };
  assert.equal(looseText(opaque('{"driver":"d","parameters":{"a": 1}}')), '{"a": 1}');
  assert.equal(looseText(opaque('{ "driver": "d", "parameters": {"a":1} }')), undefined);
});
