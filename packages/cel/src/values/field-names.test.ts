import assert from "node:assert/strict";
import { test } from "node:test";
import { escapeFieldName, unescapeFieldName } from "./field-names.ts";

test("escapes names of properties, and finds the property of a name", () => {
  const names: readonly (readonly [property: string, name: string])[] = [
    ["namespace", "__namespace__"],
    ["true", "__true__"],
    ["a.b-c/d", "a__dot__b__dash__c__slash__d"],
    ["a__b", "a__underscores__b"],
    ["int", "int"],
    ["_if", "_if"],
    ["__if__", "__underscores__if__underscores__"],
  ];
  for (const [property, name] of names) {
    assert.equal(escapeFieldName(property), name);
    assert.equal(unescapeFieldName(name), property);
  }
  for (const property of ["", "1a", "a b", "ä"]) assert.equal(escapeFieldName(property), undefined);
});

test("takes a reserved word for the property, and rejects unknown escapes", () => {
  assert.equal(unescapeFieldName("namespace"), "namespace");
  for (const name of ["__illegal__", "x__if__", "__if__x"]) assert.equal(unescapeFieldName(name), undefined);
});
