import { isInRelease } from "../features/features.ts";
import { zeroScalars } from "../schema/table.ts";
import type { Field, FieldType, ScalarName, StructType } from "../schema/types.ts";
import { noteEmpty } from "./empty.ts";

/** Whether that release has the field; all have it if none is named. */
export function served(field: Field, version: string | undefined): boolean {
  return version === undefined || isInRelease(version, field.marks);
}

/** The value of a type that nobody has set, as Go writes it. */
export function zeroOf(type: FieldType, version?: string): unknown {
  switch (type.form) {
    case "list":
    case "map":
      return null;
    case "struct":
      return isFree(type.struct) ? null : finish(type.struct, new Map(), version);
    case "scalar":
      return zeroScalars.get(type.name) ?? null;
  }
}

function isZero(value: unknown, type: FieldType): boolean {
  if (value === undefined || value === null) return true;
  if (type.form === "list") return (value as unknown[]).length === 0;
  if (type.form === "map") return Object.keys(value as object).length === 0;
  return value === "" || value === 0 || value === false || value === 0n;
}

const isEmptyObject = (value: unknown): boolean =>
  typeof value === "object" && value !== null && Object.keys(value).length === 0;

/** An object with the fields that are set, and those that Go writes all the same, in the order of the schema. */
export function finish(
  struct: StructType,
  values: ReadonlyMap<string, unknown>,
  version?: string,
  stored = false,
): Record<string, unknown> {
  const object: Record<string, unknown> = {};
  const always = alwaysWritten(struct, version);
  for (const field of values.size === 0 ? always : struct.fields.values()) {
    const { name } = field;
    const value = values.get(name);
    if (value === undefined) {
      if (always.has(field)) object[name] = field.marks.pointer ? null : zeroOf(field.type, version);
      continue;
    }
    const written = writtenValue(field, value, stored);
    if (written !== undefined) object[name] = written;
    if (written !== value && isEmptyObject(value)) noteEmpty(object, name, value);
  }
  return object;
}

const known = new WeakMap<StructType, Map<string | undefined, ReadonlySet<Field>>>();

/** The fields that Go writes even if nobody has set them, of those that the release has. */
function alwaysWritten(struct: StructType, version: string | undefined): ReadonlySet<Field> {
  let byVersion = known.get(struct);
  if (byVersion === undefined) {
    byVersion = new Map();
    known.set(struct, byVersion);
  }
  let fields = byVersion.get(version);
  if (fields === undefined) {
    fields = new Set(
      [...struct.fields.values()].filter((field) => isAlwaysWritten(field) && served(field, version)),
    );
    byVersion.set(version, fields);
  }
  return fields;
}

/** Whether Go writes a field that nobody has set. */
function isAlwaysWritten({ marks, type }: Field): boolean {
  if (marks.omit === "never") return marks.pointer || type.form !== "struct" || !isFree(type.struct);
  if (marks.pointer || marks.omit === "zero") return false;
  // To Go these are structs, which `omitempty` does not leave out.
  return type.form === "struct" ? !isFree(type.struct) : type.form === "scalar" && structLike.has(type.name);
}

/** Whether JSON has something else in place of the struct. */
function isFree({ anyJSON, alternatives }: StructType): boolean {
  return anyJSON || alternatives !== undefined;
}

function writtenValue({ marks, type }: Field, value: unknown, stored: boolean): unknown {
  // Storing loses the difference between an empty list and none.
  if (stored && marks.omit === "never" && !marks.pointer && (type.form === "list" || type.form === "map")) {
    return isZero(value, type) ? null : value;
  }
  if (marks.pointer || marks.omit === "never") return value;
  if (type.form === "struct") return marks.omit === "zero" && isEmptyObject(value) ? undefined : value;
  if (type.form === "scalar" && structLike.has(type.name)) return value;
  return isZero(value, type) ? undefined : value;
}

/** Scalars of JSON that are structs in Go: `omitempty` does not leave them out. */
const structLike: ReadonlySet<ScalarName> = new Set([
  "Quantity",
  "Time",
  "MicroTime",
  "Duration",
  "IntOrString",
]);
