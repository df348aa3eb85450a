import assert from "node:assert/strict";
import test from "node:test";
import { type Decoded, decodeAs, Provenance, parseJSONTree } from "./index.ts";

function decoded(text: string, type: string): Decoded {
  const { value, notes } = parseJSONTree(text);
  return decodeAs(value, type, undefined, { notes });
}

test("a list that came empty is left out, but known", () => {
  const text = '{"driver":"d","pool":{},"devices":[]}';
  const { object, provenance } = decoded(text, "resource/v1.ResourceSliceSpec");
  assert.equal("devices" in object, false);
  assert.equal(provenance.cameEmpty(object, "devices"), true);
  assert.equal(provenance.cameEmpty(object, "sharedCounters"), false);
});

test("a list that is always written is null once it has been stored empty", () => {
  const { value } = parseJSONTree('{"rules":[]}');
  const stored = decodeAs(value, "rbac/v1.Role", undefined, { stored: true });
  assert.deepEqual(stored.object["rules"], null);
  assert.deepEqual(stored.provenance.withEmpty(stored.object)["rules"], []);
  assert.deepEqual(decodeAs(value, "rbac/v1.Role").object["rules"], []);
});

test("raw JSON with blanks keeps its text, compact JSON does not", () => {
  const textOf = (text: string): string | undefined => {
    const { object, provenance } = decoded(text, "resource/v1.OpaqueDeviceConfiguration");
    return provenance.rawText(object["parameters"] as object);
  };
  assert.equal(textOf('{"driver":"d","parameters":{"a": 1}}'), '{"a": 1}');
  assert.equal(textOf('{ "driver": "d", "parameters": {"a":1} }'), undefined);
});

test("a request knows the objects of all its decodings, and the texts of stored ones", () => {
  const { object, provenance } = decoded('{"rules":[]}', "rbac/v1.Role");
  provenance.noteEmpty(object, "rules");
  const stored = {};
  const request = new Provenance(new Map([[stored, "{ }"]]));
  request.adopt(provenance);
  assert.equal(request.cameEmpty(object, "rules"), true);
  assert.equal(request.rawText(stored), "{ }");
  request.forgetEmpty(object, "rules");
  assert.equal(request.cameEmpty(object, "rules"), false);
  assert.equal(provenance.cameEmpty(object, "rules"), true);
});
