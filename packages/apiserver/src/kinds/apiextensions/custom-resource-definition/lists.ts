import type { FieldErrors } from "@dray/api/validation";
import { itemsOf, propertyOf, type Schema, someSchema } from "../../../structural-schemas/schema.ts";

/** Validates the extensions for merging of lists and maps: `x-kubernetes-list-type` and the like. */
export function checkLists(
  errors: FieldErrors,
  path: string,
  schema: Schema,
  tolerance: { readonly anySetItems: boolean; readonly anyMapKeys: boolean },
): void {
  const { type = "" } = schema;
  const listType = schema["x-kubernetes-list-type"];
  const mapType = schema["x-kubernetes-map-type"];
  const keys = schema["x-kubernetes-list-map-keys"] ?? [];
  if (schema["x-kubernetes-preserve-unknown-fields"] === false) {
    errors.invalid(`${path}.x-kubernetes-preserve-unknown-fields`, false, "must be true or undefined");
  }
  if (mapType !== undefined) {
    checkType(errors, path, type, { expected: "object", mark: "map" });
    if (mapType !== "atomic" && mapType !== "granular") {
      errors.notSupported(`${path}.x-kubernetes-map-type`, mapType, ["atomic", "granular"]);
    }
  }
  if (listType !== undefined && type !== "array")
    checkType(errors, path, type, { expected: "array", mark: "list" });
  else if (listType === "set" && !tolerance.anySetItems) checkSetItems(errors, path, itemsOf(schema));
  if (listType !== undefined && !["atomic", "set", "map"].includes(listType)) {
    errors.notSupported(`${path}.x-kubernetes-list-type`, listType, ["atomic", "set", "map"]);
  }
  if (keys.length > 0 && listType !== "map") {
    const detail = "must be map if x-kubernetes-list-map-keys is non-empty";
    if (listType === undefined) errors.required(`${path}.x-kubernetes-list-type`, detail);
    else errors.invalid(`${path}.x-kubernetes-list-type`, listType, detail);
  }
  if (listType === "map") checkMapKeys(errors, path, schema, keys);
  if (!tolerance.anyMapKeys) checkMapItems(errors, path, schema);
}

function checkType(
  errors: FieldErrors,
  path: string,
  type: string,
  { expected, mark }: { readonly expected: string; readonly mark: string },
): void {
  if (type === expected) return;
  const detail = `must be ${expected} if x-kubernetes-${mark}-type is specified`;
  if (type === "") errors.required(`${path}.type`, detail);
  else errors.invalid(`${path}.type`, type, detail);
}

function checkSetItems(errors: FieldErrors, path: string, items: Schema | undefined): void {
  const detail = "must be atomic as item of a list with x-kubernetes-list-type=set";
  const listType = items?.["x-kubernetes-list-type"];
  if (items?.type === "array" && listType !== undefined && listType !== "atomic") {
    errors.invalid(`${path}.items.x-kubernetes-list-type`, listType, detail);
  }
  if (items?.type === "object" && items["x-kubernetes-map-type"] !== "atomic") {
    // Upstream prints the type of the list here.
    errors.invalid(`${path}.items.x-kubernetes-map-type`, listType ?? null, detail);
  }
}

function checkMapKeys(errors: FieldErrors, path: string, schema: Schema, keys: readonly string[]): void {
  const { items } = schema;
  const where = `${path}.x-kubernetes-list-map-keys`;
  if (keys.length === 0) errors.required(where, "must not be empty if x-kubernetes-list-type is map");
  if (items === undefined) {
    errors.required(`${path}.items`, "must have a schema if x-kubernetes-list-type is map");
    return;
  }
  if (Array.isArray(items)) {
    errors.invalid(`${path}.items`, items, "must only have a single schema if x-kubernetes-list-type is map");
    return;
  }
  if (items.type !== "object") {
    const detail = "must be object if parent array's x-kubernetes-list-type is map";
    errors.invalid(`${path}.items.type`, items.type ?? "", detail);
    return;
  }
  const seen = new Set<string>();
  for (const key of keys) {
    const property = propertyOf(items, key);
    if (property === undefined) errors.invalid(where, keys, "entries must all be names of item properties");
    else if (property.type === "array" || property.type === "object") {
      const detail = "must be a scalar type if parent array's x-kubernetes-list-type is map";
      errors.invalid(`${path}.items.properties[${key}].type`, items.type, detail);
    }
    if (seen.has(key)) errors.invalid(where, keys, "must not contain duplicate entries");
    seen.add(key);
  }
}

/** Items must have a schema, and their keys must be required or have a default. */
function checkMapItems(errors: FieldErrors, path: string, schema: Schema): void {
  const items = itemsOf(schema);
  const listType = schema["x-kubernetes-list-type"];
  if (items === undefined || (listType !== "set" && listType !== "map")) return;
  if (items.nullable) {
    errors.forbidden(
      `${path}.items.nullable`,
      `cannot be nullable when x-kubernetes-list-type is ${listType}`,
    );
  }
  if (listType !== "map") return;
  for (const key of schema["x-kubernetes-list-map-keys"] ?? []) {
    const property = propertyOf(items, key);
    if (property === undefined) continue;
    const where = `${path}.items.properties[${key}]`;
    const isPresent = items.required?.includes(key) || (property.default ?? null) !== null;
    if (!isPresent) {
      const detail =
        "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property";
      errors.required(`${where}.default`, detail);
    }
    if (property.nullable) {
      const detail = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
      errors.forbidden(`${where}.nullable`, detail);
    }
  }
}

/** Reports whether the stored schema breaks a rule already; then the new one may, too. */
export function breaksLists(schema: Schema, fresh: () => FieldErrors, rule: "set" | "map"): boolean {
  return someSchema(schema, (one) => {
    const errors = fresh();
    if (rule === "map") checkMapItems(errors, "", one);
    else if (one["x-kubernetes-list-type"] === "set") checkSetItems(errors, "", itemsOf(one));
    return errors.list.length > 0;
  });
}
