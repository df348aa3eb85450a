import { type Field, type FieldType, kindOf, type StructType, structType } from "@dray/api/codec";
import type { KindRow } from "@dray/api/schema";
import { readCorpus } from "../fuzz/corpus.ts";

export type Tree = { readonly [key: string]: unknown };

export const isTree = (value: unknown): value is Tree =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Maximum length of an example as JSON. */
const maxLength = 2_000;

/** Bodies and values of fields from the recorded scenarios of the API. */
export class Examples {
  readonly #bodies = new Map<string, Tree[]>();
  readonly #values = new Map<string, unknown>();

  constructor() {
    for (const { steps } of readCorpus()) for (const { body } of steps) if (isTree(body)) this.#add(body);
    for (const bodies of this.#bodies.values())
      bodies.sort((a, b) => JSON.stringify(b).length - JSON.stringify(a).length);
  }

  #add(body: Tree): void {
    const { apiVersion, kind } = body;
    if (typeof apiVersion !== "string" || typeof kind !== "string") return;
    const [version = "", group = ""] = apiVersion.split("/").toReversed();
    const row = kindOf(group, version, kind);
    if (row === undefined) return;
    const key = `${group}/${kind}`;
    this.#bodies.set(key, [...(this.#bodies.get(key) ?? []), body]);
    this.#harvest(structType(row.type), body);
  }

  #harvest(struct: StructType, tree: Tree): void {
    for (const field of struct.fields.values()) {
      const value = tree[field.name];
      if (value === undefined || value === null) continue;
      const length = JSON.stringify(value).length;
      const known = this.#values.get(field.id);
      if (length < maxLength && length > (known === undefined ? 0 : JSON.stringify(known).length))
        this.#values.set(field.id, value);
      this.#harvestValue(field.type, value);
    }
  }

  #harvestValue(type: FieldType, value: unknown): void {
    if (type.form === "struct" && isTree(value)) this.#harvest(type.struct, value);
    if (type.form === "list" && Array.isArray(value))
      for (const each of value) this.#harvestValue(type.element, each);
    if (type.form === "map" && isTree(value))
      for (const each of Object.values(value)) this.#harvestValue(type.value, each);
  }

  /** Bodies of a kind in any version, the largest first; the last is made from the schema. */
  bodiesOf({ group, version, kind, type }: KindRow): readonly Tree[] {
    const apiVersion = group === "" ? version : `${group}/${version}`;
    const known = this.#bodies.get(`${group}/${kind}`) ?? [];
    const ownVersion = known.filter((body) => body["apiVersion"] === apiVersion);
    const made = { metadata: { name: "growth" }, spec: this.#structOf(structType(type))["spec"] };
    return [...ownVersion, ...known, made].map((body) => ({ ...body, apiVersion, kind }));
  }

  /** A value of the field: a recorded one, else one with the fields that it must have. */
  valueOf(field: Field): unknown {
    return this.#values.get(field.id) ?? this.#made(field.type, field.name);
  }

  /** An element or value of a list or map. */
  made(type: FieldType, name: string): unknown {
    return this.#made(type, name);
  }

  #made(type: FieldType, name: string): unknown {
    switch (type.form) {
      case "list":
        return [this.#made(type.element, name)];
      case "map":
        return { "example.com/k": this.#made(type.value, name) };
      case "struct":
        return this.#structOf(type.struct);
      default:
        return scalars[type.name] ?? "a";
    }
  }

  #structOf(struct: StructType): Record<string, unknown> {
    if (struct.alternatives !== undefined) return {};
    const fields = [...struct.fields.values()].filter(
      ({ name, marks }) =>
        name !== "status" && (marks.omit === "never" || name === "spec" || name === "name"),
    );
    return Object.fromEntries(
      fields
        .filter(({ type }) => !(type.form === "struct" && type.struct === struct))
        .map((field) => [field.name, this.#values.get(field.id) ?? this.#made(field.type, field.name)]),
    );
  }
}

const scalars: Readonly<Record<string, unknown>> = {
  bool: true,
  int32: 1,
  int64: 1,
  double: 1,
  bytes: "AAAA",
  Quantity: "1",
  Time: "2026-01-01T00:00:00Z",
  MicroTime: "2026-01-01T00:00:00.000000Z",
  Duration: "1s",
  IntOrString: 80,
  any: {},
  RawExtension: {},
  FieldsV1: {},
};
