import { isInRelease } from "../features/features.ts";
import { zeroScalars } from "../schema/table.ts";
import type { Field, FieldType, ScalarName, StructType } from "../schema/types.ts";
import type { Provenance } from "./provenance.ts";

/** Whether the release has the field; true if no release is given. */
export function served(field: Field, version: string | undefined): boolean {
  return version === undefined || isInRelease(version, field.marks);
}

/** The unset value of a type, as Go writes it. */
export function zeroOf(type: FieldType, version?: string): unknown {
  switch (type.form) {
    case "list":
    case "map":
      return null;
    case "struct":
      return isFree(type.struct) ? null : finish(writtenForm(type.struct, version), [], {});
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

/** How the objects of a struct type are written in one release. */
export interface WrittenForm {
  readonly version: string | undefined;
  /** The fields of the release, in the order of the schema. */
  readonly fields: readonly WrittenField[];
  /** Indexes into `fields` by name. */
  readonly indexes: ReadonlyMap<string, number>;
}

interface WrittenField {
  readonly field: Field;
  /** Go writes it even if it is unset. */
  readonly isAlwaysWritten: boolean;
}

const forms = new WeakMap<StructType, Map<string | undefined, WrittenForm>>();

/** Made on first use, and kept. All fields are known if no release is named. */
export function writtenForm(struct: StructType, version: string | undefined): WrittenForm {
  let byVersion = forms.get(struct);
  if (byVersion === undefined) {
    byVersion = new Map();
    forms.set(struct, byVersion);
  }
  let form = byVersion.get(version);
  if (form === undefined) {
    const fields = [...struct.fields.values()]
      .filter((field) => served(field, version))
      .map((field) => ({ field, isAlwaysWritten: isAlwaysWritten(field) }));
    form = { version, fields, indexes: new Map(fields.map(({ field }, index) => [field.name, index])) };
    byVersion.set(version, form);
  }
  return form;
}

export interface FinishOptions {
  /** As the object is once it has been stored and read again. */
  readonly stored?: boolean;
  /** Receives the fields that came empty and are not written so. */
  readonly provenance?: Provenance;
}

/**
 * Adds to `object` the fields that are set, and those that Go writes all the same, in the order of the
 * schema. `values` has the value of each field of the form at its index; undefined: unset.
 */
export function finish(
  form: WrittenForm,
  values: readonly unknown[],
  { stored = false, provenance }: FinishOptions,
  object: Record<string, unknown> = {},
): Record<string, unknown> {
  const { fields, version } = form;
  for (let index = 0; index < fields.length; index++) {
    const { field, isAlwaysWritten } = fields[index]!;
    const value = values[index];
    if (value === undefined) {
      if (isAlwaysWritten) object[field.name] = field.marks.pointer ? null : zeroOf(field.type, version);
      continue;
    }
    const written = writtenValue(field, value, stored);
    if (written !== undefined) object[field.name] = written;
    if (written !== value && isEmptyObject(value)) provenance?.noteEmpty(object, field.name, value);
  }
  return object;
}

/** Whether Go writes the field if it is unset. */
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
  // Storing loses the difference between an empty list and a missing one.
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
