/**
 * Constant defaults: the marks `default` of the schema table.
 *
 * Upstream: `+default=`, from which k8s.io/code-generator's defaulter-gen makes zz_generated.defaults.go
 */
import type { Provenance } from "../codec/provenance.ts";
import { isInRelease } from "../features/features.ts";
import { zeroScalars } from "../schema/table.ts";
import type { Field, FieldType, StructType } from "../schema/types.ts";

type Tree = Record<string, unknown>;
/** Sets defaults in an object, in place. `provenance` has the lists and maps that came empty. */
type Step = (object: Tree, provenance: Provenance | undefined) => void;

/** By release; undefined for a type that has no constant default, nor anything below it. */
const compiled = new Map<string, Map<StructType, Step | undefined>>();

/** Sets the constant defaults of an object of that type that are unset, in place, at any depth. */
export function setConstantDefaults(
  struct: StructType,
  object: object,
  release: string,
  provenance?: Provenance,
): void {
  compile(struct, release)?.(object as Tree, provenance);
}

function compile(struct: StructType, release: string): Step | undefined {
  const byType = compiled.get(release) ?? new Map<StructType, Step | undefined>();
  compiled.set(release, byType);
  if (byType.has(struct)) return byType.get(struct);
  if (!hasConstants(struct, release)) {
    byType.set(struct, undefined);
    return undefined;
  }
  const steps: Step[] = [];
  const all: Step = (object, provenance) => {
    for (const step of steps) step(object, provenance);
  };
  // Before the fields: a type may hold itself.
  byType.set(struct, all);
  for (const field of fieldsOf(struct, release)) {
    for (const step of [constantStep(field), nestedStep(field, release)]) if (step) steps.push(step);
  }
  return all;
}

function fieldsOf(struct: StructType, release: string): Field[] {
  return [...struct.fields.values()].filter(({ marks }) => isInRelease(release, marks));
}

function hasConstants(struct: StructType, release: string, seen = new Set<StructType>()): boolean {
  if (seen.has(struct)) return false;
  seen.add(struct);
  return fieldsOf(struct, release).some((field) => {
    const below = structIn(field.type);
    return constantOf(field) !== undefined || (below !== undefined && hasConstants(below, release, seen));
  });
}

/** The struct that a type, its elements or its values are of. */
function structIn(type: FieldType): StructType | undefined {
  if (type.form === "struct") return type.struct;
  if (type.form === "list") return structIn(type.element);
  return type.form === "map" ? structIn(type.value) : undefined;
}

/** The default of a field, as JSON; undefined also if it is the zero value of a field without a pointer. */
function constantOf({ marks, type }: Field): string | undefined {
  if (marks.default === undefined || marks.pointer || type.form !== "scalar") return marks.default;
  return JSON.parse(marks.default) === zeroScalars.get(type.name) ? undefined : marks.default;
}

function constantStep(field: Field): Step | undefined {
  const text = constantOf(field);
  if (text === undefined) return undefined;
  const { name, marks, type } = field;
  const zero = marks.pointer || type.form !== "scalar" ? undefined : zeroScalars.get(type.name);
  return (object, provenance) => {
    const value = object[name];
    // An empty list or map is not nil.
    const isUnset = value === undefined || value === null || value === zero;
    if (isUnset && !provenance?.cameEmpty(object, name)) object[name] = JSON.parse(text);
  };
}

/** Sets the defaults of what stands in a field. */
function nestedStep({ name, marks, type }: Field, release: string): Step | undefined {
  const struct = structIn(type);
  const step = struct && compile(struct, release);
  if (step === undefined) return undefined;
  if (type.form !== "struct") return (object, provenance) => setInside(object[name], type, step, provenance);
  if (marks.pointer) {
    return (object, provenance) => {
      if (isTree(object[name])) step(object[name], provenance);
    };
  }
  // In Go a struct without a pointer always exists, with its defaults, even if the client did not send it.
  return (object, provenance) => {
    const value = object[name];
    const present = isTree(value) ? value : {};
    step(present, provenance);
    if (present !== value && Object.keys(present).length > 0) object[name] = present;
  };
}

/** Sets the defaults of the structs in a list or map. */
function setInside(value: unknown, type: FieldType, step: Step, provenance: Provenance | undefined): void {
  if (!isTree(value)) return;
  if (type.form === "list" && Array.isArray(value)) {
    for (const item of value) setInside(item, type.element, step, provenance);
  } else if (type.form === "map") {
    for (const key in value) setInside(value[key], type.value, step, provenance);
  } else step(value, provenance);
}

function isTree(value: unknown): value is Tree {
  return typeof value === "object" && value !== null;
}
