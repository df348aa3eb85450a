import { thaw } from "../storage/json.ts";
import { fieldOf, isContainer, isPlain, itemsOf, namesFields, type Schema, setField } from "./schema.ts";

const nullable = (schema: Schema | undefined): boolean => schema === undefined || schema.nullable === true;
const hasDefault = (schema: Schema | undefined): boolean =>
  schema?.default !== undefined && schema.default !== null;

/** Fills in the defaults of a schema, in place. Nulls of fields that are not nullable count as absent. */
export function setDefaults(value: unknown, schema: Schema | undefined): void {
  if (schema === undefined) return;
  if (Array.isArray(value)) {
    const items = itemsOf(schema);
    value.forEach((item, index) => {
      if (item === null && !nullable(items)) value[index] = thaw(items?.default ?? null);
      setDefaults(value[index], items);
    });
    return;
  }
  if (!isPlain(value)) return;
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    if (!hasDefault(property)) continue;
    const absent = !Object.hasOwn(value, name) || (value[name] === null && !nullable(property));
    if (absent) setField(value, name, thaw(property.default));
  }
  if (!namesFields(schema)) return;
  for (const key in value) {
    const field = fieldOf(schema, key);
    if (value[key] === null && !nullable(field)) setField(value, key, thaw(field?.default ?? null));
    if (isContainer(value[key])) setDefaults(value[key], field);
  }
}

/** Removes nulls of fields that are neither nullable nor defaulted, in place. */
export function dropNulls(value: unknown, schema: Schema | undefined): void {
  if (schema === undefined) return;
  if (Array.isArray(value)) {
    const items = itemsOf(schema);
    if (items !== undefined) for (const item of value) dropNulls(item, items);
    return;
  }
  if (!isPlain(value) || !namesFields(schema)) return;
  for (const key in value) {
    const field = fieldOf(schema, key);
    const item = value[key];
    if (item === null && !nullable(field) && !hasDefault(field)) delete value[key];
    else if (isContainer(item)) dropNulls(item, field);
  }
}
