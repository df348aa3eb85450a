import { serverError } from "../errors/status.ts";
import { thaw } from "../storage/json.ts";
import { fieldOf, isContainer, isPlain, itemsOf, namesFields, type Schema, setField } from "./schema.ts";

const nullable = (schema: Schema | undefined): boolean => schema === undefined || schema.nullable === true;
const hasDefault = (schema: Schema | undefined): boolean =>
  schema?.default !== undefined && schema.default !== null;

/** Maximum number of characters, as JSON, that defaults add to an object. */
const maxAdded = 32 * 2 ** 20;

/** Lengths of defaults as JSON. */
const lengths = new WeakMap<Schema, number>();

/** Counts what defaults add to one object. */
class AddedDefaults {
  #added = 0;

  /** Returns a copy of the default of a schema. Throws a StatusError if there are too many. */
  copy(schema: Schema | undefined): unknown {
    if (schema === undefined || !hasDefault(schema)) return null;
    const length = lengths.get(schema) ?? JSON.stringify(schema.default).length;
    lengths.set(schema, length);
    this.#added += length;
    if (this.#added > maxAdded)
      throw serverError(
        `the defaults of the schema of this custom resource add more than ${maxAdded / 2 ** 20} MiB to one object`,
      );
    return thaw(schema.default);
  }
}

/**
 * Fills in the defaults of a schema, in place. Nulls of fields that are not nullable count as absent. Throws
 * StatusError if that makes the object huge: an object of 300 kB can have 100,000 items, and a default of
 * items may be longer than 10 kB. Upstream has no limit but memory.
 */
export function setDefaults(
  value: unknown,
  schema: Schema | undefined,
  added: AddedDefaults = new AddedDefaults(),
): void {
  if (schema === undefined) return;
  if (Array.isArray(value)) {
    const items = itemsOf(schema);
    value.forEach((item, index) => {
      if (item === null && !nullable(items)) value[index] = added.copy(items);
      setDefaults(value[index], items, added);
    });
    return;
  }
  if (!isPlain(value)) return;
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    if (!hasDefault(property)) continue;
    const absent = !Object.hasOwn(value, name) || (value[name] === null && !nullable(property));
    if (absent) setField(value, name, added.copy(property));
  }
  if (!namesFields(schema)) return;
  for (const key in value) {
    const field = fieldOf(schema, key);
    if (value[key] === null && !nullable(field)) setField(value, key, added.copy(field));
    if (isContainer(value[key])) setDefaults(value[key], field, added);
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
