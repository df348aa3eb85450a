import { encodeJSON } from "../json.ts";
import type { Field, FieldType, ScalarName, StructType } from "../types.ts";
import { type Message, messageOf } from "./message.ts";
import { zeroTime } from "./time.ts";
import { type BackwardWriter, wire } from "./writer.ts";

type Tree = Readonly<Record<string, unknown>>;

/** Writes an object's fields as Go does: the last first, because the writer goes backwards. */
export function writeStruct(writer: BackwardWriter, object: Tree, { struct, fields }: Message): void {
  if (fields.length === 0 && struct.ownFields.length > 0) {
    throw new TypeError(`${struct.name} has no protobuf form`);
  }
  for (let i = fields.length - 1; i >= 0; i--) {
    const field = fields[i]!;
    // An inlined struct's fields stand among the parent's own in JSON.
    writeField(writer, field, field.marks.inline ? object : object[field.name]);
  }
}

function writeField(writer: BackwardWriter, { number, type, marks }: Field, value: unknown): void {
  const unset = value === undefined || value === null;
  if (unset) {
    // Go writes what is no pointer, zero or not; what a release has dropped it does not know.
    if (marks.pointer || marks.until !== undefined || type.form === "list" || type.form === "map") return;
    if (type.form === "scalar" && type.name === "bytes") return;
  }
  if (type.form === "list") {
    const list = value as readonly unknown[];
    for (let i = list.length - 1; i >= 0; i--) writeValue(writer, number, type.element, list[i]);
  } else if (type.form === "map") {
    writeMap(writer, number, type.value, value as Tree);
  } else writeValue(writer, number, type, value);
}

function writeMap(writer: BackwardWriter, number: number, type: FieldType, map: Tree): void {
  const keys = Object.keys(map).sort(byBytes);
  for (let i = keys.length - 1; i >= 0; i--) {
    const key = keys[i]!;
    const before = writer.written;
    const value = map[key];
    const absent = type.form === "scalar" && type.name === "bytes" && (value === null || value === undefined);
    if (!absent) writeValue(writer, 2, type, value);
    writer.textField(1, key);
    writer.block(number, before);
  }
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

/** One value with its tag. */
function writeValue(writer: BackwardWriter, number: number, type: FieldType, value: unknown): void {
  if (type.form === "scalar") {
    writeScalar(writer, number, type.name, value ?? undefined);
    return;
  }
  const before = writer.written;
  if (type.form === "struct") writeNested(writer, type.struct, value);
  else if (type.form === "list") {
    // A list as the value of a map is a message of its own (ExtraValue of authentication/v1).
    const list = (value ?? []) as readonly unknown[];
    for (let i = list.length - 1; i >= 0; i--) writeValue(writer, 1, type.element, list[i]);
  } else throw new TypeError("a map of maps has no protobuf form");
  writer.block(number, before);
}

function writeNested(writer: BackwardWriter, struct: StructType, value: unknown): void {
  if (struct.anyJSON) writeJSON(writer, value);
  else if (struct.alternatives !== undefined) writeUnion(writer, struct.alternatives, value);
  else writeStruct(writer, (value ?? {}) as Tree, messageOf(struct));
}

/** The raw text of a JSON value in a field of its own; null is no text. */
function writeJSON(writer: BackwardWriter, value: unknown): void {
  if (value === undefined || value === null) return;
  writer.textField(1, encodeJSON(value));
}

/** The alternative that the value is of. Beside a schema JSONSchemaPropsOrBool says that it allows something. */
function writeUnion(writer: BackwardWriter, alternatives: readonly Field[], value: unknown): void {
  for (const { number, type } of alternatives.toReversed()) {
    if (type.form === "list") {
      if (!Array.isArray(value)) continue;
      for (const element of value.toReversed()) writeValue(writer, number, type.element, element);
    } else if (type.form === "struct") {
      if (typeof value === "object" && value !== null && !Array.isArray(value)) {
        writeValue(writer, number, type, value);
      }
    } else writeValue(writer, number, type, value !== undefined && value !== null && value !== false);
  }
}

function writeScalar(writer: BackwardWriter, number: number, name: ScalarName, value: unknown): void {
  switch (name) {
    case "string":
      writer.textField(number, (value as string | undefined) ?? "");
      return;
    case "bool":
      writer.varint(value === true ? 1 : 0);
      writer.tag(number, wire.varint);
      return;
    case "int32":
    case "int64":
      writer.varint((value as number | bigint | undefined) ?? 0);
      writer.tag(number, wire.varint);
      return;
    case "double":
      writer.double((value as number | undefined) ?? 0);
      writer.tag(number, wire.fixed64);
      return;
    case "any":
    case "Duration":
      throw new TypeError(`${name} has no protobuf form`);
  }
  const before = writer.written;
  switch (name) {
    case "bytes":
      writer.raw(Buffer.from((value as string | undefined) ?? "", "base64"));
      break;
    case "Quantity":
      writer.textField(1, (value as string | undefined) ?? "0");
      break;
    case "Time":
    case "MicroTime":
      if (value !== undefined) writeTime(writer, name, value as string);
      break;
    case "IntOrString": {
      const text = typeof value === "string";
      writer.textField(3, text ? value : "");
      writer.varint(text ? 0 : ((value as number | undefined) ?? 0));
      writer.tag(2, wire.varint);
      writer.varint(text ? 1 : 0);
      writer.tag(1, wire.varint);
      break;
    }
    case "RawExtension":
    case "FieldsV1":
      writeJSON(writer, value);
  }
  writer.block(number, before);
}

/** Go keeps whole seconds of a Time, and microseconds of a MicroTime; a zero time is an empty message. */
function writeTime(writer: BackwardWriter, name: "Time" | "MicroTime", text: string): void {
  const seconds = Math.floor(Date.parse(text) / 1000);
  if (Number.isNaN(seconds)) throw new TypeError(`${JSON.stringify(text)} is no time of RFC 3339`);
  const fraction = name === "Time" ? "" : (/\.(\d+)/.exec(text)?.[1] ?? "");
  const microseconds = Number(fraction.padEnd(6, "0").slice(0, 6));
  if (seconds === zeroTime && microseconds === 0) return;
  writer.varint(microseconds * 1000);
  writer.tag(2, wire.varint);
  writer.varint(seconds);
  writer.tag(1, wire.varint);
}
