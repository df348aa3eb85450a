import type { Field, StructType } from "../../schema/types.ts";
import { finish, type WrittenForm, writtenForm } from "../written.ts";
import { Findings } from "./findings.ts";
import { type Read, type ReaderOf, readsNull } from "./read.ts";
import { mergeRepeated } from "./repeated.ts";
import { formOf, isTree, isTypeMeta, partOf } from "./values.ts";

/** Reads one field; `index` is its place among the values of its struct. */
class FieldReader {
  readonly field: Field;
  readonly index: number;
  readonly #isPointer: boolean;
  readonly #readsNull: boolean;
  readonly #read: Read;

  constructor(field: Field, index: number, read: Read) {
    this.field = field;
    this.index = index;
    this.#isPointer = field.marks.pointer === true;
    this.#readsNull = readsNull(field.type) && field.marks.pointer !== true;
    this.#read = read;
  }

  /** Returns the value that the field is set to; undefined if it is unset. */
  read(value: unknown, findings: Findings, known: unknown, literal: string | undefined): unknown {
    if (value === null) {
      // A type that reads itself is asked about null as well.
      if (this.#readsNull) this.#read(value, findings, undefined, undefined);
      return undefined;
    }
    const part = this.#read(value, findings, known, literal);
    // A zero time counts as unset, but a pointer to one is written.
    return part === null && !this.#isPointer ? undefined : part;
  }
}

/** Reads objects of one struct type in one release: made once, and kept (reader.ts). */
export class StructReader {
  readonly #struct: StructType;
  readonly #form: WrittenForm;
  readonly #fields: ReadonlyMap<string, FieldReader>;

  constructor(struct: StructType, version: string | undefined, readerOf: ReaderOf) {
    this.#struct = struct;
    this.#form = writtenForm(struct, version);
    this.#fields = new Map(
      this.#form.fields.map(({ field }, index) => [
        field.name,
        new FieldReader(field, index, readerOf(field.type)),
      ]),
    );
  }

  /** `isWhole`: it is the whole tree, which always has `apiVersion` and `kind`, even empty ones. */
  read(tree: unknown, findings: Findings, known: unknown, isWhole: boolean): unknown {
    if (!isTree(tree)) return findings.mismatch(formOf(tree));
    const { notes } = findings.options;
    if (notes.repeatedEntries(tree) !== undefined)
      return this.#readRepeatedKeys(tree, findings, known, isWhole);
    const object: Record<string, unknown> = {};
    const values = new Array<unknown>(this.#form.fields.length);
    for (const key in tree) {
      const value = tree[key];
      const before = findings.faults.length;
      const reader = this.#fields.get(key);
      if (isTypeMeta(key, this.#struct, isWhole)) readTypeMeta(object, key, value, findings);
      else if (reader === undefined) {
        findings.problem("unknown", key);
        continue;
      } else {
        const literal = typeof value === "number" ? notes.literalOf(tree, key) : undefined;
        values[reader.index] = reader.read(value, findings, partOf(known, key), literal);
      }
      if (findings.faults.length !== before && findings.locate(before, key)) return undefined;
    }
    return this.#finish(object, values, findings, isWhole);
  }

  #readRepeatedKeys(tree: object, findings: Findings, known: unknown, isWhole: boolean): unknown {
    const { notes } = findings.options;
    const since = findings.faults.length;
    const object: Record<string, unknown> = {};
    const values = new Array<unknown>(this.#form.fields.length);
    const seen = new Map<string, unknown>();
    for (const [key, value] of notes.repeatedEntries(tree) ?? []) {
      const typeMeta = isTypeMeta(key, this.#struct, isWhole);
      const reader = this.#fields.get(key);
      if (!typeMeta && reader === undefined) {
        findings.problemOnce("unknown", key, since);
        continue;
      }
      const repeated = seen.has(key);
      if (repeated) findings.problemOnce("duplicate", key, since);
      const found = new Findings(findings.options);
      if (typeMeta || reader === undefined) {
        seen.set(key, value);
        readTypeMeta(object, key, value, found);
      } else {
        const literal = typeof value === "number" ? notes.literalOf(tree, key) : undefined;
        const part = repeated ? undefined : partOf(known, key);
        values[reader.index] = reader.read(value, found, part, literal);
        if (repeated && found.stop === undefined) {
          // Go reads the second value into that of the first; its faults are known already.
          const merged = mergeRepeated(seen.get(key), value, reader.field);
          const silent = new Findings(findings.options);
          values[reader.index] = reader.read(merged, silent, undefined, undefined);
          if (silent.stop !== undefined) found.stopAt(silent.stop);
          seen.set(key, merged);
        } else seen.set(key, value);
      }
      if (findings.adopt(found, key, since)) return undefined;
    }
    return this.#finish(object, values, findings, isWhole);
  }

  #finish(
    object: Record<string, unknown>,
    values: readonly unknown[],
    findings: Findings,
    isWhole: boolean,
  ): Record<string, unknown> {
    if (!isWhole && object["kind"] === "") delete object["kind"];
    if (!isWhole && object["apiVersion"] === "") delete object["apiVersion"];
    return finish(this.#form, values, findings.options, object);
  }
}

function readTypeMeta(
  object: Record<string, unknown>,
  key: string,
  value: unknown,
  findings: Findings,
): void {
  if (typeof value === "string") object[key] = value;
  else if (value !== null) findings.mismatch(formOf(value), "string");
}
