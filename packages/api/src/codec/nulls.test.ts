import assert from "node:assert/strict";
import { test } from "node:test";
import { deepFreeze } from "../index.ts";
import { kindRows } from "../schema/table.ts";
import { type FieldType, isRequired, type StructType, structType } from "../schema/types.ts";
import { removeNulls, withoutNulls } from "./nulls.ts";

const node = { apiVersion: "v1", kind: "Node" };
/** With what the type requires. */
const whole = { ...node, metadata: {}, spec: {} };

test("reads null as absent; a required field that is null or absent as empty", () => {
  const read = withoutNulls<object>(
    {
      ...node,
      metadata: { labels: null },
      status: { images: [{ names: null, sizeBytes: 1 }], config: null },
    },
    node,
  );
  assert.deepEqual(read, { ...whole, status: { images: [{ sizeBytes: 1 }] } });
  const binding = { apiVersion: "rbac.authorization.k8s.io/v1", kind: "RoleBinding" };
  assert.deepEqual(
    withoutNulls<object>({ ...binding, metadata: null, subjects: null, roleRef: null }, binding),
    {
      ...binding,
      metadata: {},
      roleRef: { apiGroup: "", kind: "", name: "" },
    },
  );
});

test("reads null in a list or map as the zero value", () => {
  const pod = { apiVersion: "v1", kind: "Pod" };
  const spec = { containers: [null], nodeSelector: { a: null }, imagePullSecrets: null };
  const read = withoutNulls<{ spec: object }>({ ...pod, spec }, pod);
  assert.deepEqual(read.spec, { containers: [{ name: "", resources: {} }], nodeSelector: { a: "" } });
});

test("keeps null in raw JSON", () => {
  const claim = { apiVersion: "resource.k8s.io/v1", kind: "ResourceClaim" };
  const parameters = { nested: [null, { a: null }] };
  const spec = { devices: { config: [{ opaque: { driver: "d", parameters } }] } };
  const object = { ...claim, metadata: {}, spec };
  assert.equal(withoutNulls<object>(object, claim), object);
});

test("reads only the metadata of kinds without a schema, and never throws", () => {
  const other = { apiVersion: "example.com/v1", kind: "Gadget" };
  const read = withoutNulls<object>({ ...other, metadata: { finalizers: null }, spec: null }, other);
  assert.deepEqual(read, { ...other, metadata: {}, spec: null });
  const odd = {
    apiVersion: 7,
    kind: {},
    metadata: [null],
    spec: "x",
    status: { images: {}, conditions: [[]] },
  };
  assert.deepEqual(withoutNulls<object>(odd, node), odd);
});

test("returns the object itself if it has no null, and one frozen copy of a frozen object", () => {
  const clean = deepFreeze({ ...whole, status: { images: [{ names: ["a"] }] } });
  assert.equal(withoutNulls<object>(clean, node), clean);
  const images = deepFreeze({ ...whole, spec: { podCIDR: "x" }, status: { images: [{ names: null }] } });
  const read = withoutNulls<typeof images>(images, node);
  assert.ok(Object.isFrozen(read) && Object.isFrozen(read.status.images[0]));
  assert.equal(read.spec, images.spec);
  assert.equal(withoutNulls<object>(images, node), read);
  const own = structuredClone({ ...whole, status: { images: [{ names: null }] } });
  const { status } = own;
  removeNulls(own, node);
  assert.deepEqual(own, { ...whole, status: { images: [{}] } });
  assert.equal(own.status, status);
});

/** Structs whose fields are all null, one after the other down to the given depth. */
function nulls(struct: StructType, depth: number): Record<string, unknown> {
  const fields = [...struct.fields.values()].map(({ name, type }): [string, unknown] => [
    name,
    depth === 0 ? null : nullsOf(type, depth),
  ]);
  return Object.fromEntries(fields);
}

function nullsOf(type: FieldType, depth: number): unknown {
  if (type.form === "list") return [null, nullsOf(type.element, depth)];
  if (type.form === "map") return { a: null, b: nullsOf(type.value, depth) };
  if (type.form === "scalar" || type.struct.anyJSON || type.struct.alternatives !== undefined) return null;
  return nulls(type.struct, depth - 1);
}

/** Paths of nulls, and of missing required fields. */
function wrong(type: FieldType, value: unknown, path: string): string[] {
  if (value === null) return [path];
  if (type.form === "list")
    return (value as unknown[]).flatMap((each, i) => wrong(type.element, each, `${path}[${i}]`));
  if (type.form === "map")
    return Object.entries(value as object).flatMap(([key, each]) =>
      wrong(type.value, each, `${path}.${key}`),
    );
  if (type.form === "scalar") return [];
  return [...type.struct.fields.values()].flatMap((field) => {
    const at = `${path}.${field.name}`;
    const part = (value as Record<string, unknown>)[field.name];
    if (part !== undefined) return wrong(field.type, part, at);
    return isRequired(field) && !isRaw(field.type) ? [`${at} (missing)`] : [];
  });
}

const isRaw = (type: FieldType): boolean =>
  (type.form === "scalar" && ["any", "RawExtension", "FieldsV1"].includes(type.name)) ||
  (type.form === "struct" && (type.struct.anyJSON || type.struct.alternatives !== undefined));

test("no field of any kind stays null, and none that is required gets lost", () => {
  for (const row of kindRows) {
    const struct = structType(row.type);
    const type = {
      apiVersion: row.group === "" ? row.version : `${row.group}/${row.version}`,
      kind: row.kind,
    };
    for (const depth of [0, 1, 2, 3]) {
      const object: object = { ...nulls(struct, depth), ...type };
      const read = withoutNulls(object, type);
      assert.deepEqual(wrong({ form: "struct", struct }, read, row.kind), [], `depth ${depth}`);
    }
  }
});
