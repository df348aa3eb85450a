import { encodeJSON } from "../json.ts";
import { rememberedText } from "../text.ts";
import type { Field, FieldType, ScalarName, StructType } from "../types.ts";
import { type Message, messageOf } from "./message.ts";
import { zeroTime } from "./time.ts";
import { BackwardWriter, wire } from "./writer.ts";

type Tree = Readonly<Record<string, unknown>>;

/** Writes one value, with its tag if it has one. Made once for each field, of what the schema says of it. */
type Write = (writer: BackwardWriter, value: unknown) => void;

const structWriters = new Map<StructType, Write>();

/** Writes an object's fields as Go does: the last first, because the writer goes backwards. */
export function writeStruct(writer: BackwardWriter, object: Tree, { struct }: Message): void {
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

function fieldsWriter(struct: StructType): Write {
  const { fields } = messageOf(struct);
  if (fields.length === 0 && struct.ownFields.length > 0) {
    return () => {
      throw new TypeError(`${struct.name} has no protobuf form`);
    };
  }
  const names = fields.map(({ name }) => name);
  // An inlined struct's fields stand among the parent's own in JSON.
  const inlined = fields.map(({ marks }) => marks.inline === true);
  const writers: Write[] = [];
  return (writer, value) => {
    const object = (value ?? {}) as Tree;
    for (let i = names.length - 1; i >= 0; i--) {
      writers[i] ??= fieldWriter(fields[i]!);
      writers[i]!(writer, inlined[i] ? object : object[names[i]!]);
    }
  };
}

function fieldWriter({ number, type, marks }: Field): Write {
  if (type.form === "list" && !marks.wrapped) {
    const element = valueWriter(number, type.element);
    return (writer, value) => {
      const list = (value ?? []) as readonly unknown[];
      for (let i = list.length - 1; i >= 0; i--) element(writer, list[i]);
    };
  }
  if (type.form === "map") return mapWriter(number, type.value);
  const write = valueWriter(number, type);
  // Go writes what is no pointer, zero or not; what a release has dropped it does not know.
  const left =
    marks.pointer || marks.until !== undefined || (type.form === "scalar" && type.name === "bytes");
  let zero: Uint8Array | undefined;
  return (writer, value) => {
    if (value !== undefined && value !== null) write(writer, value);
    else if (!left) {
      zero ??= bytesOf((scratch) => write(scratch, undefined));
      writer.raw(zero);
    }
  };
}

function bytesOf(write: (writer: BackwardWriter) => void): Uint8Array {
  const writer = new BackwardWriter();
  write(writer);
  return writer.finish();
}

function mapWriter(number: number, type: FieldType): Write {
  const write = valueWriter(2, type);
  const isBytes = type.form === "scalar" && type.name === "bytes";
  return (writer, value) => {
    if (value === undefined || value === null) return;
    const map = value as Tree;
    const keys = Object.keys(map).sort(byBytes);
    for (let i = keys.length - 1; i >= 0; i--) {
      const key = keys[i]!;
      const before = writer.written;
      const item = map[key] ?? undefined;
      if (item !== undefined || !isBytes) write(writer, item);
      writer.textField(1, key);
      writer.block(number, before);
    }
  };
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

/** Writes a value of that type with its tag. */
function valueWriter(number: number, type: FieldType): Write {
  switch (type.form) {
    case "scalar":
      return scalarWriter(number, type.name);
    case "struct": {
      let write: Write | undefined;
      return (writer, value) => {
        const before = writer.written;
        write ??= structWriter(type.struct);
        write(writer, value);
        writer.block(number, before);
      };
    }
    case "list": {
      // A message of its own, as the value of a map too (ExtraValue of authentication/v1).
      const element = valueWriter(1, type.element);
      return (writer, value) => {
        const before = writer.written;
        const list = (value ?? []) as readonly unknown[];
        for (let i = list.length - 1; i >= 0; i--) element(writer, list[i]);
        writer.block(number, before);
      };
    }
    case "map":
      return () => {
        throw new TypeError("a map of maps has no protobuf form");
      };
  }
}

/** The raw text of a JSON value in a field of its own; null is no text. */
function writeJSON(writer: BackwardWriter, value: unknown): void {
  if (value === undefined || value === null) return;
  writer.textField(1, (typeof value === "object" ? rememberedText(value) : undefined) ?? encodeJSON(value));
}

/** The alternative that the value is of. Beside a schema JSONSchemaPropsOrBool says that it allows something. */
function unionWriter(alternatives: readonly Field[]): Write {
  const writers = alternatives.toReversed().map(({ number, type }): Write => {
    if (type.form === "list") {
      const element = valueWriter(number, type.element);
      return (writer, value) => {
        if (Array.isArray(value)) for (const item of value.toReversed()) element(writer, item);
      };
    }
    const write = valueWriter(number, type);
    if (type.form !== "struct") {
      return (writer, value) => write(writer, value !== undefined && value !== null && value !== false);
    }
    return (writer, value) => {
      if (typeof value === "object" && value !== null && !Array.isArray(value)) write(writer, value);
    };
  });
  return (writer, value) => {
    for (const write of writers) write(writer, value);
  };
}

function scalarWriter(number: number, name: ScalarName): Write {
  switch (name) {
    case "string":
      return (writer, value) => writer.textField(number, (value as string | null | undefined) ?? "");
    case "bool":
      return (writer, value) => {
        writer.varint(value === true ? 1 : 0);
        writer.tag(number, wire.varint);
      };
    case "int32":
    case "int64":
      return (writer, value) => {
        writer.varint((value as number | bigint | null | undefined) ?? 0);
        writer.tag(number, wire.varint);
      };
    case "double":
      return (writer, value) => {
        writer.double((value as number | null | undefined) ?? 0);
        writer.tag(number, wire.fixed64);
      };
    case "any":
    case "Duration":
      return () => {
        throw new TypeError(`${name} has no protobuf form`);
      };
    case "bytes":
      return blockWriter(number, (writer, value) => {
        writer.raw(Buffer.from((value as string | null | undefined) ?? "", "base64"));
      });
    case "Quantity":
      return blockWriter(number, (writer, value) => {
        writer.textField(1, (value as string | null | undefined) ?? "0");
      });
    case "Time":
    case "MicroTime":
      return blockWriter(number, (writer, value) => {
        if (value !== undefined && value !== null) writeTime(writer, name, value as string);
      });
    case "IntOrString":
      return blockWriter(number, writeIntOrString);
    case "RawExtension":
    case "FieldsV1":
      return blockWriter(number, writeJSON);
  }
}

function blockWriter(number: number, write: Write): Write {
  return (writer, value) => {
    const before = writer.written;
    write(writer, value);
    writer.block(number, before);
  };
}

function writeIntOrString(writer: BackwardWriter, value: unknown): void {
  const text = typeof value === "string";
  writer.textField(3, text ? value : "");
  writer.varint(text ? 0 : ((value as number | null | undefined) ?? 0));
  writer.tag(2, wire.varint);
  writer.varint(text ? 1 : 0);
  writer.tag(1, wire.varint);
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
