import type { FieldErrors } from "@dray/api/validation";
import { itemsOf, propertyOf, type Schema, someSchema } from "../../../structural-schemas/schema.ts";

/** Validates the extensions for merging of lists and maps: `x-kubernetes-list-type` and the like. */
export function checkLists(
  errors: FieldErrors,
  schema: Schema,
  tolerance: { readonly anySetItems: boolean; readonly anyMapKeys: boolean },
): void {
  const { type = "" } = schema;
  const listType = schema["x-kubernetes-list-type"];
  const mapType = schema["x-kubernetes-map-type"];
  const keys = schema["x-kubernetes-list-map-keys"] ?? [];
  if (schema["x-kubernetes-preserve-unknown-fields"] === false) {
    errors.at("x-kubernetes-preserve-unknown-fields").invalid(false, "must be true or undefined");
  }
  if (mapType !== undefined) {
    checkType(errors, type, { expected: "object", mark: "map" });
    if (mapType !== "atomic" && mapType !== "granular") {
      errors.at("x-kubernetes-map-type").notSupported(mapType, ["atomic", "granular"]);
    }
  }
  if (listType !== undefined && type !== "array")
    checkType(errors, type, { expected: "array", mark: "list" });
  else if (listType === "set" && !tolerance.anySetItems) checkSetItems(errors, itemsOf(schema));
  if (listType !== undefined && !["atomic", "set", "map"].includes(listType)) {
    errors.at("x-kubernetes-list-type").notSupported(listType, ["atomic", "set", "map"]);
  }
  if (keys.length > 0 && listType !== "map") {
    const detail = "must be map if x-kubernetes-list-map-keys is non-empty";
    if (listType === undefined) errors.at("x-kubernetes-list-type").required(detail);
    else errors.at("x-kubernetes-list-type").invalid(listType, detail);
  }
  if (listType === "map") checkMapKeys(errors, schema, keys);
  if (!tolerance.anyMapKeys) checkMapItems(errors, schema);
}

function checkType(
  errors: FieldErrors,
  type: string,
  { expected, mark }: { readonly expected: string; readonly mark: string },
): void {
  if (type === expected) return;
  const detail = `must be ${expected} if x-kubernetes-${mark}-type is specified`;
  if (type === "") errors.at("type").required(detail);
  else errors.at("type").invalid(type, detail);
}

function checkSetItems(errors: FieldErrors, items: Schema | undefined): void {
  const detail = "must be atomic as item of a list with x-kubernetes-list-type=set";
  const listType = items?.["x-kubernetes-list-type"];
  if (items?.type === "array" && listType !== undefined && listType !== "atomic") {
    errors.at("items.x-kubernetes-list-type").invalid(listType, detail);
  }
  if (items?.type === "object" && items["x-kubernetes-map-type"] !== "atomic") {
    // Upstream prints the type of the list here.
    errors.at("items.x-kubernetes-map-type").invalid(listType ?? null, detail);
  }
}

function checkMapKeys(errors: FieldErrors, schema: Schema, keys: readonly string[]): void {
  const { items } = schema;
  const here = errors.at("x-kubernetes-list-map-keys");
  if (keys.length === 0) here.required("must not be empty if x-kubernetes-list-type is map");
  if (items === undefined) {
    errors.at("items").required("must have a schema if x-kubernetes-list-type is map");
    return;
  }
  if (Array.isArray(items)) {
    errors.at("items").invalid(items, "must only have a single schema if x-kubernetes-list-type is map");
    return;
  }
  if (items.type !== "object") {
    const detail = "must be object if parent array's x-kubernetes-list-type is map";
    errors.at("items.type").invalid(items.type ?? "", detail);
    return;
  }
  const seen = new Set<string>();
  for (const key of keys) {
    const property = propertyOf(items, key);
    if (property === undefined) here.invalid(keys, "entries must all be names of item properties");
    else if (property.type === "array" || property.type === "object") {
      const detail = "must be a scalar type if parent array's x-kubernetes-list-type is map";
      errors.at("items.properties").key(key).at("type").invalid(items.type, detail);
    }
    if (seen.has(key)) here.invalid(keys, "must not contain duplicate entries");
    seen.add(key);
  }
}

/** Items must have a schema, and their keys must be required or have a default. */
function checkMapItems(errors: FieldErrors, schema: Schema): void {
  const items = itemsOf(schema);
  const listType = schema["x-kubernetes-list-type"];
  if (items === undefined || (listType !== "set" && listType !== "map")) return;
  if (items.nullable) {
    errors.at("items.nullable").forbidden(`cannot be nullable when x-kubernetes-list-type is ${listType}`);
  }
  if (listType !== "map") return;
  const required = new Set(items.required);
  for (const key of schema["x-kubernetes-list-map-keys"] ?? []) {
    const property = propertyOf(items, key);
    if (property === undefined) continue;
    const here = errors.at("items.properties").key(key);
    const isPresent = required.has(key) || (property.default ?? null) !== null;
    if (!isPresent) {
      const detail =
        "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property";
      here.at("default").required(detail);
    }
    if (property.nullable) {
      const detail = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
      here.at("nullable").forbidden(detail);
    }
  }
}

/** Reports whether the stored schema breaks a rule already; then the new one may, too. */
export function breaksLists(schema: Schema, fresh: () => FieldErrors, rule: "set" | "map"): boolean {
  return someSchema(schema, (one) => {
    const errors = fresh();
    if (rule === "map") checkMapItems(errors, one);
    else if (one["x-kubernetes-list-type"] === "set") checkSetItems(errors, itemsOf(one));
    return errors.list.length > 0;
  });
}
