import assert from "node:assert/strict";
import { test } from "node:test";
import { kindRows } from "../schema/table.ts";
import { kindDefinition, kindDefinitions } from "./registry.ts";

test("each definition is of a kind of the schema, and found by its group and kind", () => {
  const ofSchema = new Set(kindRows.map(({ group, kind, resource }) => `${group}/${kind}/${resource}`));
  for (const definition of kindDefinitions) {
    const { group, kind, resource } = definition.type;
    assert.ok(ofSchema.has(`${group}/${kind}/${resource}`), `${group}/${kind}`);
    assert.equal(kindDefinition({ group, kind }), definition, `${group}/${kind}`);
  }
});

test("defaults for one version only are for a version of the kind", () => {
  for (const { type, versionDefaults = {} } of kindDefinitions) {
    const versions = kindRows
      .filter(({ group, kind }) => group === type.group && kind === type.kind)
      .map(({ version }) => version);
    for (const version of Object.keys(versionDefaults))
      assert.ok(versions.includes(version), `${type.kind} ${version}`);
  }
});

test("a kind without rules is not defined", () => {
  assert.equal(kindDefinition({ group: "", kind: "ComponentStatus" }), undefined);
  assert.equal(kindDefinition({ group: "example.com", kind: "Pod" }), undefined);
});
