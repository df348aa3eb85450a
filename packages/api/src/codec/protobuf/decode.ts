import { setKey } from "../../json/parser.ts";
import type { Field, FieldType, StructType } from "../../schema/types.ts";
import { finish, served, type WrittenForm, writtenForm, zeroOf } from "../written.ts";
import { messageOf } from "./message.ts";
import { largeMessage, Reader } from "./reader.ts";
import { type ReadValue, rawJSON, scalarReader, wireOf } from "./scalars.ts";
import { wire } from "./writer.ts";

/** The fields read so far of one message. */
interface Filling {
  /** By the index of the field in the written form of the struct; undefined: unset. */
  readonly values: unknown[];
  /** Messages within it, which are read when all of it is there. */
  readonly parts: Part[];
}

/** A message that is read in pieces: all before is read. */
interface Begun extends Filling {
  /** Index of the tag of the next field. */
  at: number;
  /** How many of its parts are read. */
  partsRead: number;
}

/** Position of a message that occurs once in its parent, and its further parts. */
interface Part {
  readonly index: number;
  readonly read: ReadValue;
  readonly from: number;
  readonly to: number;
  more?: Part[];
}

/** Reads one field after its tag. `end`: of the message. */
type FieldReader = (reader: Reader, tag: number, end: number, filling: Filling) => void;
/** The readers of a message's fields by number. */
type FieldTable = readonly (FieldReader | undefined)[];

const readers = new WeakMap<StructType, Map<string | undefined, ReadValue>>();

/**
 * The reader of the messages of a struct type, compiled on first use: it reads up to `end`, and gives the
 * object in the form in which the API server writes it. `version` is the release whose fields are known, all
 * if absent.
 */
export function messageReader(struct: StructType, version: string | undefined): ReadValue {
  let byVersion = readers.get(struct);
  if (byVersion === undefined) {
    byVersion = new Map();
    readers.set(struct, byVersion);
  }
  let reader = byVersion.get(version);
  if (reader === undefined) {
    reader = new Compiler(version).message(struct);
    byVersion.set(version, reader);
  }
  return reader;
}

/** Makes the readers of one release. */
class Compiler {
  readonly #version: string | undefined;

  constructor(version: string | undefined) {
    this.#version = version;
  }

  message(struct: StructType): ReadValue {
    if (struct.anyJSON) return (reader, end) => rawJSON(reader, end, struct.name);
    if (struct.alternatives !== undefined) return this.#union(struct, struct.alternatives);
    const form = writtenForm(struct, this.#version);
    const table = this.#table(struct, form);
    return (reader, end) => {
      reader.enter(struct.name);
      const values =
        reader.pieces !== undefined && end - reader.at >= largeMessage
          ? readInPieces(table, reader, end, form)
          : readAtOnce(table, reader, end, form);
      reader.leave();
      return finish(form, values, reader);
    };
  }

  /** Found on first use: types contain themselves. */
  #nested(struct: StructType): ReadValue {
    let read: ReadValue | undefined;
    return (reader, end) => {
      read ??= messageReader(struct, this.#version);
      return read(reader, end);
    };
  }

  /** The fields of a struct, or of one that is inlined in the struct of the form. */
  #table(struct: StructType, form: WrittenForm): FieldTable {
    return messageOf(struct).byNumber.map((field) =>
      field === undefined || !served(field, this.#version) ? undefined : this.#field(struct, field, form),
    );
  }

  #field(struct: StructType, field: Field, form: WrittenForm): FieldReader {
    const { name, type, marks } = field;
    const where = pathOf(struct, field);
    const index = form.indexes.get(name) ?? -1;
    switch (type.form) {
      case "struct":
        return marks.inline ? this.#inlined(type.struct, where, form) : this.#part(type.struct, where, index);
      case "list": {
        if (marks.wrapped) return wholeValue(this.#value(type, where), where, index);
        const read = this.#element(type.element, where);
        return (reader, tag, end, { values }) => {
          values[index] ??= [];
          read(reader, tag, end, values[index] as unknown[]);
        };
      }
      case "map": {
        const read = this.#entry(type.value, where);
        return (reader, tag, end, { values }) => {
          expect(reader, tag, wire.block, where);
          values[index] ??= {};
          read(reader, reader.block(end), values[index] as Record<string, unknown>);
        };
      }
      case "scalar": {
        const kind = wireOf(type.name);
        const read = scalarReader(type.name, where);
        return (reader, tag, end, { values }) => {
          expect(reader, tag, kind, where);
          const value = read(reader, end);
          // A zero time of a field that is not a pointer is an unset one.
          values[index] = value === null && !marks.pointer ? undefined : value;
        };
      }
    }
  }

  #inlined(struct: StructType, where: string, form: WrittenForm): FieldReader {
    const table = this.#table(struct, form);
    return (reader, tag, end, filling) => {
      expect(reader, tag, wire.block, where);
      const to = reader.block(end);
      withoutPieces(reader, () => readFields(table, reader, to, filling));
    };
  }

  #part(struct: StructType, where: string, index: number): FieldReader {
    const read = this.#nested(struct);
    return (reader, tag, end, filling) => {
      expect(reader, tag, wire.block, where);
      const to = reader.block(end);
      addPart(filling, { index, read, from: reader.at, to });
      reader.at = to;
    };
  }

  /** A list counts most, then a schema, then the truth value: so Go writes it to JSON. */
  #union(struct: StructType, alternatives: readonly Field[]): ReadValue {
    const table: FieldReader[] = [];
    for (const [index, field] of alternatives.entries()) {
      const where = pathOf(struct, field);
      if (field.type.form === "struct") table[field.number] = this.#part(field.type.struct, where, index);
      else if (field.type.form === "list") {
        const read = this.#element(field.type.element, where);
        table[field.number] = (reader, tag, end, { values }) => {
          values[index] ??= [];
          read(reader, tag, end, values[index] as unknown[]);
        };
      } else {
        table[field.number] = (reader, tag, end, { values }) => {
          expect(reader, tag, wire.varint, where);
          values[index] = reader.bool(end);
        };
      }
    }
    const indexOf = (form: FieldType["form"]): number =>
      alternatives.findIndex(({ type }) => type.form === form);
    const [list, schema, scalar] = [indexOf("list"), indexOf("struct"), indexOf("scalar")];
    return (reader, end) => {
      const filling: Filling = { values: new Array<unknown>(alternatives.length), parts: [] };
      const { values, parts } = filling;
      reader.enter(struct.name);
      withoutPieces(reader, () => readFields(table, reader, end, filling));
      for (const part of parts) values[part.index] = readParts(reader, part);
      reader.leave();
      return values[list] ?? values[schema] ?? (scalar < 0 ? null : (values[scalar] ?? false));
    };
  }

  /** One element of a list; numbers may also come packed, many in a block. */
  #element(
    type: FieldType,
    where: string,
  ): (reader: Reader, tag: number, end: number, list: unknown[]) => void {
    const kind = type.form === "scalar" ? wireOf(type.name) : wire.block;
    const read = this.#value(type, where);
    return (reader, tag, end, list) => {
      if (kind !== wire.block && (tag & 7) === wire.block) {
        const to = reader.block(end);
        while (reader.at < to) list.push(read(reader, to));
        return;
      }
      expect(reader, tag, kind, where);
      list.push(read(reader, end));
    };
  }

  #value(type: FieldType, where: string): ReadValue {
    switch (type.form) {
      case "scalar":
        return scalarReader(type.name, where);
      case "struct": {
        const read = this.#nested(type.struct);
        return (reader, end) => {
          const to = reader.block(end);
          const value = read(reader, to);
          reader.at = to;
          return value;
        };
      }
      case "list": {
        // A list as the value of a map is a message of its own (ExtraValue of authentication/v1).
        const read = this.#element(type.element, where);
        return (reader, end) => {
          const to = reader.block(end);
          const list: unknown[] = [];
          while (reader.at < to) {
            const tag = reader.tag(to);
            if (tag >>> 3 === 1) read(reader, tag, to, list);
            else reader.skip(tag, to);
          }
          return list;
        };
      }
      case "map":
        return () => {
          throw new TypeError("a map of maps has no protobuf form");
        };
    }
  }

  /** Reads an entry of a map up to `end`. */
  #entry(
    type: FieldType,
    where: string,
  ): (reader: Reader, end: number, map: Record<string, unknown>) => void {
    const kind = type.form === "scalar" ? wireOf(type.name) : wire.block;
    const read = this.#value(type, where);
    return (reader, end, map) => {
      let key = "";
      let value = absentValue(type, this.#version);
      let hasValue = false;
      while (reader.at < end) {
        const tag = reader.tag(end);
        if (tag >>> 3 === 1) {
          expect(reader, tag, wire.block, where);
          key = reader.text(reader.block(end));
        } else if (tag >>> 3 === 2) {
          expect(reader, tag, kind, where);
          // After a pause an entry is read again: only its first value may need several pieces.
          value = hasValue ? withoutPieces(reader, () => read(reader, end)) : read(reader, end);
          hasValue = true;
        } else reader.skip(tag, end);
      }
      setKey(map, key, value);
    };
  }
}

function readAtOnce(table: FieldTable, reader: Reader, end: number, form: WrittenForm): unknown[] {
  const filling: Filling = { values: new Array<unknown>(form.fields.length), parts: [] };
  readFields(table, reader, end, filling);
  for (const part of filling.parts) filling.values[part.index] = readParts(reader, part);
  return filling.values;
}

/**
 * Reads a large message; goes on where the last piece has ended. The messages around it are as large, and
 * know their own places: they get here again.
 */
function readInPieces(table: FieldTable, reader: Reader, end: number, form: WrittenForm): unknown[] {
  const begun = reader.pieces?.begun;
  const start = reader.at;
  const filling = (begun?.get(start) as Begun | undefined) ?? {
    values: new Array<unknown>(form.fields.length),
    parts: [],
    at: start,
    partsRead: 0,
  };
  begun?.set(start, filling);
  for (; filling.at < end; filling.at = reader.at) {
    reader.pauseIfDue();
    reader.at = filling.at;
    readField(table, reader, end, filling);
  }
  for (; filling.partsRead < filling.parts.length; filling.partsRead++) {
    reader.pauseIfDue();
    const part = filling.parts[filling.partsRead]!;
    filling.values[part.index] = readParts(reader, part);
  }
  begun?.delete(start);
  return filling.values;
}

/** Reads a part at once, because what is around it does not know its own place. */
function withoutPieces<T>(reader: Reader, read: () => T): T {
  const { pieces } = reader;
  reader.pieces = undefined;
  const value = read();
  reader.pieces = pieces;
  return value;
}

function readFields(table: FieldTable, reader: Reader, end: number, filling: Filling): void {
  while (reader.at < end) readField(table, reader, end, filling);
}

function readField(table: FieldTable, reader: Reader, end: number, filling: Filling): void {
  const tag = reader.tag(end);
  const read = table[tag >>> 3];
  if (read === undefined) reader.skip(tag, end);
  else read(reader, tag, end, filling);
}

/** A field whose value is all in one place: the last one counts. */
function wholeValue(read: ReadValue, where: string, index: number): FieldReader {
  return (reader, tag, end, { values }) => {
    expect(reader, tag, wire.block, where);
    values[index] = read(reader, end);
  };
}

/** Notes a message, or a further part of one. Its first part is the value until all is read. */
function addPart({ values, parts }: Filling, part: Part): void {
  const first = values[part.index] as Part | undefined;
  if (first === undefined) {
    values[part.index] = part;
    parts.push(part);
  } else {
    first.more ??= [];
    first.more.push(part);
  }
}

/** Reads a message of which all parts are known: a message that comes in parts is one message. */
function readParts(reader: Reader, first: Part): unknown {
  const { read, from, to, more } = first;
  if (more === undefined) {
    reader.at = from;
    return read(reader, to);
  }
  const bytes = [first, ...more].map((part) => reader.bytes.subarray(part.from, part.to));
  const whole = new Reader(Buffer.concat(bytes), reader.provenance, reader.depth);
  whole.maxValues = reader.maxValues;
  return read(whole, whole.bytes.length);
}

/** The value of a map entry without a value: lists and bytes are empty then, not nil. */
function absentValue(type: FieldType, version: string | undefined): unknown {
  if (type.form === "list") return [];
  return type.form === "scalar" && type.name === "bytes" ? "" : zeroOf(type, version);
}

function pathOf(struct: StructType, field: Field): string {
  return field.name === "" ? struct.name : `${struct.name}.${field.name}`;
}

function expect(reader: Reader, tag: number, kind: number, where: string): void {
  if ((tag & 7) === kind) return;
  reader.fail(`wrong wire type ${tag & 7} for field ${where}, expected ${kind}`);
}
