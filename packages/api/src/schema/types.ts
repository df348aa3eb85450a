import { type FieldMarks, type FieldRow, type KindRow, kindRows, typeRows } from "./table.ts";

/** The type of a field, read from the table's text form. */
export type FieldType =
  | { readonly form: "scalar"; readonly name: ScalarName }
  | { readonly form: "list"; readonly element: FieldType }
  | { readonly form: "map"; readonly value: FieldType }
  | { readonly form: "struct"; readonly struct: StructType };

const scalarNames = [
  "string",
  "bool",
  "int32",
  "int64",
  "double",
  "bytes",
  "any",
  "Quantity",
  "Time",
  "MicroTime",
  "Duration",
  "IntOrString",
  "RawExtension",
  "FieldsV1",
] as const;
export type ScalarName = (typeof scalarNames)[number];

export interface Field {
  readonly name: string;
  /** `core/v1.Volume.name`: the struct that has the field itself, and its name there. */
  readonly id: string;
  /** Names of the inlined structs between a struct and the field, outermost first. */
  readonly embedded: readonly string[];
  /** 0: not in the protobuf form. */
  readonly number: number;
  readonly marks: FieldMarks;
  readonly type: FieldType;
}

/** Whether the generated type requires the field. The server writes a status: drafts leave it out. */
export function isRequired({ name, marks, type }: Pick<Field, "name" | "marks" | "type">): boolean {
  if (marks.pointer || name === "status") return false;
  return (
    (marks.omit === "never" && marks.optional === undefined) || (name === "spec" && type.form === "struct")
  );
}

/**
 * A struct type: made on first use, fields resolved on first use, so that a kind costs nothing until it is
 * met.
 */
export class StructType {
  /** `core/v1.PodSpec` */
  readonly name: string;
  readonly #rows: readonly FieldRow[];
  #rowFields: readonly Field[] | undefined;
  #fields: ReadonlyMap<string, Field> | undefined;
  #alternatives: readonly Field[] | undefined;
  /** True for a type without fields that holds any JSON value (apiextensions JSON). */
  readonly anyJSON: boolean;

  constructor(name: string, rows: readonly FieldRow[]) {
    this.name = name;
    this.#rows = rows;
    this.anyJSON = name === "apiextensions/v1.JSON";
  }

  /** `PodSpec` */
  get shortName(): string {
    return this.name.slice(this.name.lastIndexOf(".") + 1);
  }

  /** As the protobuf form has them: an inlined struct is one field. */
  get ownFields(): readonly Field[] {
    this.#rowFields ??= this.#rows.map(([name, number, type, marks = {}]) => ({
      name,
      id: `${this.name}.${name}`,
      embedded: [],
      number,
      marks,
      type: readType(type),
    }));
    return this.#rowFields;
  }

  /** As JSON has them, inlined structs' fields among their own, in order. */
  get fields(): ReadonlyMap<string, Field> {
    this.#fields ??= new Map(
      this.ownFields.flatMap((field) =>
        field.marks.inline && field.type.form === "struct"
          ? embed(field.type.struct)
          : [[field.name, field] as const],
      ),
    );
    return this.#fields;
  }

  /** True if objects of the type carry `kind` and `apiVersion`, wherever they stand. */
  get typed(): boolean {
    kindTypes ??= new Set(kindRows.map((row) => row.type));
    return kindTypes.has(this.name) || typedMeta.has(this.name);
  }

  /** The alternatives of a union: JSON has one of them in place of the struct. */
  get alternatives(): readonly Field[] | undefined {
    this.#alternatives ??= this.ownFields.filter((field) => field.name === "" && !field.marks.inline);
    return this.#alternatives.length > 0 ? this.#alternatives : undefined;
  }
}

/** Types of kinds; made when first asked for. */
let kindTypes: ReadonlySet<string> | undefined;
/** Shared types that are sent on their own, and stand in other objects too. */
const typedMeta: ReadonlySet<string> = new Set(["meta/v1.DeleteOptions", "meta/v1.Status"]);

/** The fields of an inlined struct as its parent has them. */
function embed(struct: StructType): (readonly [string, Field])[] {
  return [...struct.fields.values()].map((field) => [
    field.name,
    { ...field, embedded: [struct.shortName, ...field.embedded] },
  ]);
}

const structs = new Map<string, StructType>();

/** The struct type with that name in the table. Throws for a name that is not there. */
export function structType(name: string): StructType {
  const known = structs.get(name);
  if (known !== undefined) return known;
  const rows = typeRows.get(name);
  if (rows === undefined) throw new TypeError(`no type ${name} in the schema`);
  const made = new StructType(name, rows);
  structs.set(name, made);
  return made;
}

export function readType(text: string): FieldType {
  if (text.startsWith("[]")) return { form: "list", element: readType(text.slice(2)) };
  if (text.startsWith("map<")) return { form: "map", value: readType(text.slice(4, -1)) };
  const scalar = scalarNames.find((name) => name === text);
  return scalar === undefined
    ? { form: "struct", struct: structType(text) }
    : { form: "scalar", name: scalar };
}

const kinds = new Map(kindRows.map((row) => [`${row.group}/${row.version}/${row.kind}`, row]));
const resources = new Map(kindRows.map((row) => [`${row.group}/${row.version}/${row.resource}`, row]));

/** The kind with that group, version and name. */
export function kindOf(group: string, version: string, kind: string): KindRow | undefined {
  return kinds.get(`${group}/${version}/${kind}`);
}

/** The kind whose paths have that plural. */
export function kindByResource(group: string, version: string, resource: string): KindRow | undefined {
  return resources.get(`${group}/${version}/${resource}`);
}
