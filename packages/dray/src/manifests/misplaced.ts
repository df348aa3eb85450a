import type { Field, FieldType, StructType } from "@dray/api/codec";

type Tree = Readonly<Record<string, unknown>>;

const isTree = (value: unknown): value is Tree =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** A struct on the path to an unknown field. */
interface Place {
  readonly struct: StructType;
  readonly value: unknown;
  readonly path: string;
}

/** An unknown field, and the structs around it, outermost first. */
export interface UnknownField {
  readonly name: string;
  readonly value: unknown;
  /** The struct that lacks it, and the path of that struct. */
  readonly struct: StructType;
  readonly path: string;
  readonly around: readonly Place[];
}

/** Finds the field at a path of plain names and indices; undefined for a path through keys of maps. */
export function unknownFieldAt(root: StructType, tree: Tree, path: string): UnknownField | undefined {
  let place: Place = { struct: root, value: tree, path: "" };
  const around = [place];
  let rest = path;
  for (;;) {
    const { struct, value, path: before } = place;
    const name = rest.slice(0, rest.search(/[.[]|$/));
    const at = isTree(value) ? value[name] : undefined;
    const field = struct.fields.get(name);
    if (field === undefined)
      return rest === name ? { name, value: at, struct, path: before, around } : undefined;
    rest = rest.slice(name.length);
    let { type }: { type: FieldType } = field;
    let below = at;
    let here = join(before, name);
    while (type.form === "list") {
      const [step, index] = /^\[(\d+)\]/.exec(rest) ?? [];
      if (step === undefined) return undefined;
      rest = rest.slice(step.length);
      here += step;
      below = Array.isArray(below) ? below[Number(index)] : undefined;
      type = type.element;
    }
    if (type.form !== "struct") return undefined;
    place = { struct: type.struct, value: below, path: here };
    around.push(place);
    rest = rest.replace(/^\./, "");
  }
}

const join = (path: string, name: string): string => (path === "" ? name : `${path}.${name}`);

/** A path where a field of the same name and form may stand. */
export interface BetterPlace {
  readonly path: string;
  /** How many levels up and down it is away. */
  readonly distance: number;
}

const maxDistance = 4;

/**
 * Returns the nearest places in the schema where a field with that name and a value of that form may stand:
 * inside what is there before what would be new, and outside of lists before inside.
 */
export function betterPlaces({ name, value, around }: UnknownField): readonly BetterPlace[] {
  const found: Candidate[] = [];
  for (const [up, place] of around.toReversed().entries())
    for (const each of below(place, maxDistance - up))
      if (each.field.name === name && suits(each.field.type, value))
        found.push({ ...each, distance: up + each.depth });
  const best = found.toSorted(
    (a, b) => a.distance - b.distance || Number(a.isNew) - Number(b.isNew) || a.lists - b.lists,
  );
  const [first] = best;
  return best.filter(
    ({ distance, isNew, lists }) =>
      distance === first?.distance && isNew === first.isNew && lists === first.lists,
  );
}

interface Descendant {
  readonly field: Field;
  readonly path: string;
  readonly depth: number;
  /** A struct around it is not in the object. */
  readonly isNew: boolean;
  /** How many lists are around it. */
  readonly lists: number;
}

type Candidate = Descendant & BetterPlace;

/** Fields that no manifest sets. */
const ofServer: ReadonlySet<string> = new Set(["status", "managedFields", "ownerReferences"]);

/** Returns the fields of a struct and of those in it, the nearest first. */
function below(start: Place, maxDepth: number): Descendant[] {
  const found: Descendant[] = [];
  let level = [{ ...start, isNew: false, lists: 0, seen: [start.struct.name] }];
  for (let depth = 0; depth <= maxDepth && level.length > 0; depth++) {
    const next: typeof level = [];
    for (const { struct, value, path, isNew, lists, seen } of level)
      for (const [name, field] of struct.fields) {
        if (ofServer.has(name)) continue;
        const at = join(path, name);
        found.push({ field, path: at, depth, isNew, lists });
        const inner = structIn(field.type);
        if (inner === undefined || seen.includes(inner.struct.name)) continue;
        const there = isTree(value) ? value[name] : undefined;
        const isList = inner.suffix !== "";
        next.push({
          struct: inner.struct,
          value: isList && Array.isArray(there) ? there[0] : there,
          path: `${at}${inner.suffix}`,
          isNew: isNew || there === undefined || there === null,
          lists: lists + (isList ? 1 : 0),
          seen: [...seen, inner.struct.name],
        });
      }
    level = next;
  }
  return found;
}

/** Returns the struct of a field, and the suffix of the path to one of them. */
function structIn(type: FieldType): { readonly struct: StructType; readonly suffix: string } | undefined {
  if (type.form === "struct") return { struct: type.struct, suffix: "" };
  const inner = type.form === "list" ? structIn(type.element) : undefined;
  return inner && { ...inner, suffix: `[]${inner.suffix}` };
}

/** Reports whether a value may be of the type, by its form. */
function suits(type: FieldType, value: unknown): boolean {
  if (value === null || value === undefined) return true;
  if (type.form === "list") return Array.isArray(value);
  if (type.form === "scalar" && ["any", "RawExtension", "FieldsV1"].includes(type.name)) return isTree(value);
  if (type.form === "scalar") return typeof value !== "object" && isScalar(type.name, value);
  if (!isTree(value)) return false;
  return type.form === "map" || Object.keys(value).every((key) => type.struct.fields.has(key));
}

function isScalar(name: string, value: unknown): boolean {
  if (name === "bool") return typeof value === "boolean";
  const isNumber = typeof value === "number" || typeof value === "bigint";
  if (["int32", "int64", "double"].includes(name)) return isNumber;
  return name === "Quantity" || name === "IntOrString"
    ? typeof value !== "boolean"
    : typeof value === "string";
}

/** Reports whether the value is a struct around fields that belong where it stands: `source: {...}`. */
export function isNeedlessWrapper({ value, struct }: UnknownField): boolean {
  if (!isTree(value)) return false;
  const entries = Object.entries(value);
  return (
    entries.length > 0 &&
    entries.every(([key, inner]) => {
      const field = struct.fields.get(key);
      return field !== undefined && suits(field.type, inner);
    })
  );
}
