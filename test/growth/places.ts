import { type Field, type FieldType, type StructType, structType } from "@dray/api/codec";
import type { KindRow } from "@dray/api/schema";

/** A list or map of a kind, by the schema. */
export interface Place {
  /** Field of the schema that has it, such as `core/v1.Container.env`. */
  readonly id: string;
  /** Types on the way from the object to the value, outermost first. */
  readonly path: readonly Segment[];
  readonly field: Field;
  readonly type: FieldType;
}

/** A step of a path: a field of a struct, the first element of a list, or a key of a map. */
export type Segment =
  | { readonly step: "field"; readonly name: string; readonly field: Field }
  | { readonly step: "element" | "value"; readonly type: FieldType };

/** The path as a user writes it: `spec.containers[].env`. */
export function nameOf({ path }: Pick<Place, "path">): string {
  return path
    .map((segment) =>
      segment.step === "field" ? `.${segment.name}` : segment.step === "element" ? "[]" : "{}",
    )
    .join("")
    .slice(1);
}

/** All lists and maps of a kind. A struct within itself is entered once. */
export function placesOf(row: KindRow): readonly Place[] {
  const places: Place[] = [];
  walkStruct(structType(row.type), [], new Set(), places);
  return places;
}

function walkStruct(
  struct: StructType,
  path: readonly Segment[],
  open: ReadonlySet<string>,
  places: Place[],
): void {
  if (open.has(struct.name) || struct.anyJSON) return;
  const inner = new Set(open).add(struct.name);
  for (const field of struct.fields.values()) {
    if (field.name === "" || field.name === "kind" || field.name === "apiVersion") continue;
    walk(field, field.type, [...path, { step: "field", name: field.name, field }], { open: inner, places });
  }
}

function walk(
  field: Field,
  type: FieldType,
  path: readonly Segment[],
  into: { readonly open: ReadonlySet<string>; readonly places: Place[] },
): void {
  const { open, places } = into;
  if (type.form === "struct") walkStruct(type.struct, path, open, places);
  if (type.form === "struct" || type.form === "scalar") return;
  places.push({ id: field.id, path, field, type });
  if (type.form === "list")
    walk(field, type.element, [...path, { step: "element", type: type.element }], into);
  else walk(field, type.value, [...path, { step: "value", type: type.value }], into);
}
