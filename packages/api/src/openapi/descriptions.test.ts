import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type KindRow, kindRows, typeRows } from "../schema/table.ts";
import apps from "./descriptions/apps.json" with { type: "json" };
import batch from "./descriptions/batch.json" with { type: "json" };
import core from "./descriptions/core.json" with { type: "json" };
import meta from "./descriptions/meta.json" with { type: "json" };
import metrics from "./descriptions/metrics.json" with { type: "json" };
import policy from "./descriptions/policy.json" with { type: "json" };
import rbac from "./descriptions/rbac.json" with { type: "json" };
import resource from "./descriptions/resource.json" with { type: "json" };
import scheduling from "./descriptions/scheduling.json" with { type: "json" };
import storage from "./descriptions/storage.json" with { type: "json" };
import { describeField, describeType } from "./descriptions.ts";

/** The kinds that people look up with kubectl explain. */
const wholeGroups = new Set([
  "resource.k8s.io",
  "apps",
  "batch",
  "metrics.k8s.io",
  "rbac.authorization.k8s.io",
]);
const single = new Set(
  (
    "Pod Service ConfigMap Secret Namespace Node PersistentVolumeClaim ReplicationController " +
    "PriorityClass StorageClass PodDisruptionBudget"
  ).split(" "),
);

function reachable(kinds: readonly KindRow[]): ReadonlySet<string> {
  const seen = new Set<string>();
  const visit = (written: string): void => {
    const type = written
      .replace(/^\[\]/, "")
      .replace(/^map<(.*)>$/, "$1")
      .replace(/^\[\]/, "");
    if (!typeRows.has(type) || seen.has(type)) return;
    seen.add(type);
    for (const [, , below] of typeRows.get(type)!) visit(below);
  };
  for (const kind of kinds) visit(kind.type);
  return seen;
}

describe("descriptions", () => {
  test("cover every type and field of the kinds that people look up", () => {
    const types = reachable(kindRows.filter(({ group, kind }) => wholeGroups.has(group) || single.has(kind)));
    assert.ok(types.size > 350, `only ${types.size} types are reachable`);
    const missing = [...types].flatMap((type) => [
      ...(describeType(type) === undefined ? [type] : []),
      ...typeRows
        .get(type)!
        .filter(([name]) => name !== "" && describeField(type, name) === undefined)
        .map(([name]) => `${type}.${name}`),
    ]);
    assert.deepEqual(missing, []);
  });

  test("name only types and fields that the table has", () => {
    const fields = new Map<string, Set<string>>();
    for (const type of typeRows.keys()) {
      const key = type.replace(/\/v[^.]*\./, "/");
      fields.set(key, (fields.get(key) ?? new Set()).union(jsonFields(type)));
    }
    const all = {
      ...apps,
      ...batch,
      ...core,
      ...meta,
      ...metrics,
      ...policy,
      ...rbac,
      ...resource,
      ...scheduling,
      ...storage,
    };
    const unknown = Object.entries(all as Record<string, Record<string, string>>).flatMap(
      ([key, described]) =>
        Object.keys(described)
          .filter((name) => key !== "*" && key !== "meta/Condition" && name !== "" && name !== "@like")
          .filter((name) => !fields.get(key)?.has(name))
          .map((name) => `${key}.${name}`),
    );
    assert.deepEqual(unknown, []);
  });

  test("come from the struct that a field was inlined from", () => {
    assert.match(describeField("core/v1.Volume", "emptyDir")!, /lives as long as the pod/);
    assert.match(describeField("core/v1.EphemeralContainer", "image")!, /Image to run/);
  });

  test("are one line that ends with a full stop", () => {
    const bad = [...typeRows].flatMap(([type, rows]) =>
      ["", ...rows.map(([name]) => name)]
        .map((name) => (name === "" ? describeType(type) : describeField(type, name)))
        .filter((text) => text !== undefined && !/^[A-Za-z0-9][^\n]*\.$/.test(text))
        .map((text) => `${type}: ${text}`),
    );
    assert.deepEqual(bad, []);
  });
});

function jsonFields(type: string): Set<string> {
  return new Set(
    typeRows
      .get(type)!
      .flatMap(([name, , below, marks]) => (marks?.inline === true ? [...jsonFields(below)] : [name])),
  );
}
