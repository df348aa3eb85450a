import { encodeJSON, escapeAsGo } from "../../json/json.ts";
import type { Field, FieldType, ScalarName, StructType } from "../../schema/types.ts";
import { parseDuration } from "../../values/duration.ts";
import { sharedText } from "../text.ts";
import { messageOf } from "./message.ts";
import { zeroTime } from "./time.ts";
import { BackwardWriter } from "./writer.ts";

/** Writes a value, without a tag. */
type Write = (writer: BackwardWriter, value: unknown) => void;

const structWriters = new Map<StructType, Write>();

/**
 * Writes an object's fields as Go does: the last first, because the writer goes backwards. Throws a TypeError
 * for values without a protobuf form.
 */
export function writeStruct(writer: BackwardWriter, object: object, struct: StructType): void {
  structWriter(struct)(writer, object);
}

/** Made on first use, like the struct type itself: types may hold themselves. */
function structWriter(struct: StructType): Write {
  const known = structWriters.get(struct);
  if (known !== undefined) return known;
  const made = struct.anyJSON
    ? writeJSON
    : struct.alternatives !== undefined
      ? unionWriter(struct.alternatives)
      : fieldsWriter(struct);
  structWriters.set(struct, made);
  return made;
}

/**
 * The source of a function that writes one type, with every field of it spelled out: in a loop over fields V8
 * knows neither the shapes of objects nor what it calls, which costs several times as much.
 */
class Source {
  readonly #values: unknown[] = [];
  #variables = 0;

  /** A name by which the source calls a value of ours. */
  name(value: unknown): string {
    return `own${this.#values.push(value) - 1}`;
  }

  /** A name that is used nowhere else in the source. */
  variable(): string {
    return `v${this.#variables++}`;
  }

  function(statements: string): Write {
    const names = this.#values.map((_, i) => `own${i}`);
    return new Function(...names, `return (writer, value) => { ${statements} };`)(...this.#values) as Write;
  }
}

function fieldsWriter(struct: StructType): Write {
  const { fields } = messageOf(struct);
  if (fields.length === 0 && struct.ownFields.length > 0) {
    return () => {
      throw new TypeError(`${struct.name} has no protobuf form`);
    };
  }
  const source = new Source();
  const statements = fields.toReversed().map((field) => fieldSource(source, field));
  return source.function(`const object = value ?? {};\n${statements.join("\n")}`);
}

function fieldSource(source: Source, field: Field): string {
  const { number, type, marks, name } = field;
  const value = source.variable();
  // An inlined struct's fields stand among the parent's own in JSON.
  const given = marks.inline === true ? "object" : `object[${JSON.stringify(name)}]`;
  const there = `const ${value} = ${given}; if (${value} !== undefined && ${value} !== null)`;
  if (type.form === "list" && !marks.wrapped)
    return `${there} ${eachSource(source, number, type.element, value)}`;
  if (type.form === "map") return `${there} ${mapSource(source, number, type.value, value)}`;
  // Go writes a field that is not a pointer, zero or not, but not one that the release has dropped.
  const left =
    marks.pointer || marks.until !== undefined || (type.form === "scalar" && type.name === "bytes");
  const written = `${there} { ${valueSource(source, number, type, value)} }`;
  return left ? written : `${written} else ${source.name(zeroWriter(number, type))}(writer);`;
}

/** Writes the form of an absent field. */
function zeroWriter(number: number, type: FieldType): (writer: BackwardWriter) => void {
  let zero: Uint8Array | undefined;
  return (writer) => {
    if (zero === undefined) {
      const source = new Source();
      const scratch = new BackwardWriter(1024);
      source.function(valueSource(source, number, type, "value"))(scratch, undefined);
      zero = scratch.finish();
    }
    writer.raw(zero);
  };
}

/** The elements of a list, each with the tag. */
function eachSource(source: Source, number: number, element: FieldType, list: string): string {
  const at = source.variable();
  const write = valueSource(source, number, element, `${list}[${at}]`);
  return `for (let ${at} = ${list}.length - 1; ${at} >= 0; ${at}--) { ${write} }`;
}

function mapSource(source: Source, number: number, type: FieldType, map: string): string {
  const [keys, at, key, before] = Array.from({ length: 4 }, () => source.variable());
  const item = source.variable();
  const isBytes = type.form === "scalar" && type.name === "bytes";
  const write = valueSource(source, 2, type, item);
  return `{
    const ${keys} = ${source.name(sortedKeys)}(${map});
    for (let ${at} = ${keys}.length - 1; ${at} >= 0; ${at}--) {
      const ${key} = ${keys}[${at}], ${item} = ${map}[${key}], ${before} = writer.written;
      ${isBytes ? `if (${item} !== undefined && ${item} !== null) { ${write} }` : write}
      writer.textField(1, ${key});
      writer.block(${number}, ${before});
    }
  }`;
}

/** The keys in the order of their bytes: Go's for maps. */
function sortedKeys(map: object): string[] {
  const keys = Object.keys(map);
  for (let i = 1; i < keys.length; i++) if (byBytes(keys[i - 1]!, keys[i]!) > 0) return keys.sort(byBytes);
  return keys;
}

/** The order of the UTF-8 bytes, which is not that of UTF-16 beyond the basic plane. */
function byBytes(one: string, other: string): number {
  const length = Math.min(one.length, other.length);
  for (let i = 0; i < length; i++) {
    const [a, b] = [one.charCodeAt(i), other.charCodeAt(i)];
    if (a === b) continue;
    const [aHalf, bHalf] = [a >= 0xd800 && a < 0xe000, b >= 0xd800 && b < 0xe000];
    return aHalf === bHalf ? a - b : aHalf ? 1 : -1;
  }
  return one.length - other.length;
}

/** A value of that type with its tag. `value` is an expression without side effects. */
function valueSource(source: Source, number: number, type: FieldType, value: string): string {
  switch (type.form) {
    case "scalar":
      return scalarSource(source, number, type.name, value);
    case "struct": {
      let made: Write | undefined;
      const write: Write = (writer, object) => {
        made ??= structWriter(type.struct);
        made(writer, object);
      };
      return blockSource(source, number, `${source.name(write)}(writer, ${value});`);
    }
    case "list": {
      // A message of its own, as the value of a map too (ExtraValue of authentication/v1).
      const list = source.variable();
      return blockSource(
        source,
        number,
        `const ${list} = ${value} ?? []; ${eachSource(source, 1, type.element, list)}`,
      );
    }
    case "map":
      return throwSource("a map of maps");
  }
}

function blockSource(source: Source, number: number, statements: string): string {
  const before = source.variable();
  return `{ const ${before} = writer.written; ${statements} writer.block(${number}, ${before}); }`;
}

function throwSource(what: string): string {
  return `throw new TypeError(${JSON.stringify(`${what} has no protobuf form`)});`;
}

function scalarSource(source: Source, number: number, name: ScalarName, value: string): string {
  const block = (write: Write): string =>
    blockSource(source, number, `${source.name(write)}(writer, ${value});`);
  switch (name) {
    case "string":
      return `writer.textField(${number}, ${value} ?? "");`;
    case "bool":
      return `writer.integerField(${number}, ${value} === true ? 1 : 0);`;
    case "int32":
    case "int64":
      return `writer.integerField(${number}, ${value} ?? 0);`;
    case "double":
      return `writer.doubleField(${number}, ${value} ?? 0);`;
    case "any":
      return throwSource(name);
    case "Duration":
      return block(writeDuration);
    case "bytes":
      return block((writer, text) => writer.raw(Buffer.from((text as string | undefined) ?? "", "base64")));
    case "Quantity":
      return blockSource(source, number, `writer.textField(1, ${value} ?? "0");`);
    case "Time":
      return block((writer, text) => writeTime(writer, text, 0));
    case "MicroTime":
      return block((writer, text) => writeTime(writer, text, microseconds(text)));
    case "IntOrString":
      return block(writeIntOrString);
    case "RawExtension":
    case "FieldsV1":
      return block(writeJSON);
  }
}

/** The raw text of a JSON value in a field of its own; null is empty. */
function writeJSON(writer: BackwardWriter, value: unknown): void {
  if (value === undefined || value === null) return;
  const remembered = typeof value === "object" ? sharedText(value) : undefined;
  writer.textField(1, escapeAsGo(remembered ?? encodeJSON(value)));
}

/**
 * The alternative that the value is of. Beside a schema JSONSchemaPropsOrBool says that it allows something.
 */
function unionWriter(alternatives: readonly Field[]): Write {
  const source = new Source();
  const statements = alternatives.toReversed().map(({ number, type }) => {
    if (type.form === "list") {
      return `if (Array.isArray(value)) ${eachSource(source, number, type.element, "value")}`;
    }
    if (type.form === "struct") {
      const write = valueSource(source, number, type, "value");
      return `if (typeof value === "object" && value !== null && !Array.isArray(value)) { ${write} }`;
    }
    return valueSource(source, number, type, "(value !== undefined && value !== null && value !== false)");
  });
  return source.function(statements.join("\n"));
}

function writeIntOrString(writer: BackwardWriter, value: unknown): void {
  const text = typeof value === "string";
  writer.textField(3, text ? value : "");
  writer.integerField(2, text ? 0 : ((value as number | null | undefined) ?? 0));
  writer.integerField(1, text ? 1 : 0);
}

/** Nanoseconds, the unit of a Duration of meta/v1. */
function writeDuration(writer: BackwardWriter, value: unknown): void {
  writer.integerField(1, parseDuration((value as string | null | undefined) ?? "0s"));
}

/** Go keeps whole seconds of a Time, and microseconds of a MicroTime; a zero time is an empty message. */
function writeTime(writer: BackwardWriter, value: unknown, microseconds: number): void {
  if (value === undefined || value === null) return;
  const seconds = Math.floor(Date.parse(value as string) / 1000);
  if (Number.isNaN(seconds)) throw new TypeError(`${JSON.stringify(value)} is no time of RFC 3339`);
  if (seconds === zeroTime && microseconds === 0) return;
  writer.integerField(2, microseconds * 1000);
  writer.integerField(1, seconds);
}

function microseconds(text: unknown): number {
  const fraction = /\.(\d+)/.exec((text as string | null | undefined) ?? "")?.[1] ?? "";
  return Number(fraction.padEnd(6, "0").slice(0, 6));
}
