import { parseJSON, setKey } from "../../json/parser.ts";
import type { Field, FieldType, ScalarName, StructType } from "../../schema/types.ts";
import { durationText } from "../../values/duration.ts";
import { canonicalQuantity } from "../../values/quantity.ts";
import { DecodeError } from "../decode.ts";
import { finish, served, zeroOf } from "../written.ts";
import { messageOf } from "./message.ts";
import { Reader } from "./reader.ts";
import { times, zeroTime } from "./time.ts";
import { wire } from "./writer.ts";

/** Messages within messages, at most: real objects stay below 40, but for schemas of schemas. */
const deepest = 400;

/** Reads messages; the release whose fields are known, all of them if undefined. */
export class MessageReader {
  readonly #version: string | undefined;
  #depth = 0;

  constructor(version: string | undefined) {
    this.#version = version;
  }

  /** The fields of a message up to `end`, in the form in which the API server writes them. */
  struct(reader: Reader, end: number, struct: StructType): Record<string, unknown> {
    const values = new Map<string, unknown>();
    this.#message(reader, end, struct, values);
    return finish(struct, values, this.#version);
  }

  #message(reader: Reader, end: number, struct: StructType, values: Map<string, unknown>): void {
    if (++this.#depth > deepest)
      reader.fail(`${struct.name}: more than ${deepest} messages within each other`);
    const parts: Part[] = [];
    this.#fields(reader, end, struct, values, parts);
    for (const part of parts) values.set(part.field.name, this.#whole(reader, part));
    this.#depth--;
  }

  #fields(
    reader: Reader,
    end: number,
    struct: StructType,
    values: Map<string, unknown>,
    parts: Part[],
  ): void {
    const { byNumber } = messageOf(struct);
    while (reader.at < end) {
      const tag = reader.tag(end);
      const field = byNumber[tag >>> 3];
      if (field === undefined || !served(field, this.#version)) {
        reader.skip(tag, end);
        continue;
      }
      const { name, type, marks } = field;
      switch (type.form) {
        case "struct": {
          expect(reader, tag, wire.block, struct, field);
          const to = reader.block(end);
          if (marks.inline) this.#fields(reader, to, type.struct, values, parts);
          else {
            // Read when all is there: a message that comes in parts is one message.
            addPart(parts, values, name, { field, struct: type.struct, from: reader.at, to });
            reader.at = to;
          }
          break;
        }
        case "list":
          if (marks.wrapped) {
            expect(reader, tag, wire.block, struct, field);
            values.set(name, this.#value(reader, end, type, struct, field));
            break;
          }
          this.#element(reader, end, tag, struct, field, type.element, listIn(values, name));
          break;
        case "map":
          expect(reader, tag, wire.block, struct, field);
          this.#entry(reader, reader.block(end), struct, field, type.value, mapIn(values, name));
          break;
        case "scalar": {
          expect(reader, tag, wireOf(type.name), struct, field);
          const value = this.#scalar(reader, end, type.name, struct, field);
          // A zero time of a field that is no pointer is an unset one.
          if (value === null && !marks.pointer) values.delete(name);
          else values.set(name, value);
        }
      }
    }
  }

  /** Reads a message of which all parts are known. */
  #whole(reader: Reader, first: Part): unknown {
    const { struct, from, to, more } = first;
    if (more === undefined) {
      reader.at = from;
      return this.#nested(reader, to, struct);
    }
    const bytes = [first, ...more].map(({ from, to }) => reader.bytes.subarray(from, to));
    const whole = new Reader(Buffer.concat(bytes));
    return this.#nested(whole, whole.bytes.length, struct);
  }

  #nested(reader: Reader, end: number, struct: StructType): unknown {
    if (struct.anyJSON) return rawJSON(reader, end, struct.name);
    if (struct.alternatives !== undefined) return this.#union(reader, end, struct, struct.alternatives);
    return this.struct(reader, end, struct);
  }

  /** A list counts most, then a schema, then the truth value: so Go writes it to JSON. */
  #union(reader: Reader, end: number, struct: StructType, alternatives: readonly Field[]): unknown {
    const values = new Map<Field, unknown>();
    if (++this.#depth > deepest)
      reader.fail(`${struct.name}: more than ${deepest} messages within each other`);
    const parts: Part[] = [];
    const { byNumber } = messageOf(struct);
    while (reader.at < end) {
      const tag = reader.tag(end);
      const field = byNumber[tag >>> 3];
      if (field === undefined) reader.skip(tag, end);
      else if (field.type.form === "list") {
        const list = (values.get(field) as unknown[] | undefined) ?? [];
        values.set(field, list);
        this.#element(reader, end, tag, struct, field, field.type.element, list);
      } else if (field.type.form === "struct") {
        expect(reader, tag, wire.block, struct, field);
        const to = reader.block(end);
        addPart(parts, values, field, { field, struct: field.type.struct, from: reader.at, to });
        reader.at = to;
      } else {
        expect(reader, tag, wire.varint, struct, field);
        values.set(field, reader.bool(end));
      }
    }
    let result: unknown = null;
    const strength = (form: FieldType["form"]): number => ["scalar", "struct", "list"].indexOf(form);
    for (const field of alternatives.toSorted((a, b) => strength(a.type.form) - strength(b.type.form))) {
      if (field.type.form === "scalar") result = values.get(field) ?? false;
      else if (field.type.form === "list") result = values.get(field) ?? result;
      else if (values.has(field)) result = this.#whole(reader, values.get(field) as Part);
    }
    this.#depth--;
    return result;
  }

  /** One element of a list; numbers may also come packed, many in a block. */
  #element(
    reader: Reader,
    end: number,
    tag: number,
    struct: StructType,
    field: Field,
    type: FieldType,
    list: unknown[],
  ): void {
    const kind = type.form === "scalar" ? wireOf(type.name) : wire.block;
    if (type.form === "scalar" && kind !== wire.block && (tag & 7) === wire.block) {
      const to = reader.block(end);
      while (reader.at < to) list.push(this.#scalar(reader, to, type.name, struct, field));
      return;
    }
    expect(reader, tag, kind, struct, field);
    list.push(this.#value(reader, end, type, struct, field));
  }

  #value(reader: Reader, end: number, type: FieldType, struct: StructType, field: Field): unknown {
    switch (type.form) {
      case "scalar":
        return this.#scalar(reader, end, type.name, struct, field);
      case "struct": {
        const to = reader.block(end);
        const value = this.#nested(reader, to, type.struct);
        reader.at = to;
        return value;
      }
      case "list": {
        // A list as the value of a map is a message of its own (ExtraValue of authentication/v1).
        const to = reader.block(end);
        const list: unknown[] = [];
        while (reader.at < to) {
          const tag = reader.tag(to);
          if (tag >>> 3 === 1) this.#element(reader, to, tag, struct, field, type.element, list);
          else reader.skip(tag, to);
        }
        return list;
      }
      case "map":
        throw new TypeError("a map of maps has no protobuf form");
    }
  }

  #entry(
    reader: Reader,
    end: number,
    struct: StructType,
    field: Field,
    type: FieldType,
    map: Record<string, unknown>,
  ): void {
    let key = "";
    let value = absentValue(type, this.#version);
    while (reader.at < end) {
      const tag = reader.tag(end);
      if (tag >>> 3 === 1) {
        expect(reader, tag, wire.block, struct, field);
        key = reader.text(reader.block(end));
      } else if (tag >>> 3 === 2) {
        expect(reader, tag, type.form === "scalar" ? wireOf(type.name) : wire.block, struct, field);
        value = this.#value(reader, end, type, struct, field);
      } else reader.skip(tag, end);
    }
    setKey(map, key, value);
  }

  #scalar(reader: Reader, end: number, name: ScalarName, struct: StructType, field: Field): unknown {
    switch (name) {
      case "string":
        return reader.text(reader.block(end));
      case "bytes":
        return reader.base64(reader.block(end));
      case "bool":
        return reader.bool(end);
      case "int32":
        return reader.int32(end);
      case "int64":
        return reader.int64(end);
      case "double":
        return reader.double(end);
      case "any":
        throw new TypeError(`${name} has no protobuf form`);
    }
    const to = reader.block(end);
    const where = pathOf(struct, field);
    switch (name) {
      case "RawExtension":
      case "FieldsV1":
        return rawJSON(reader, to, where);
      case "Quantity":
        return quantity(reader, to, where);
      case "Time":
      case "MicroTime":
        return time(reader, to, name, where);
      case "Duration":
        return duration(reader, to, where);
      case "IntOrString":
        return intOrString(reader, to, where);
    }
  }
}

/** Where a message lies that stands once in its parent, and the further parts of it. */
interface Part {
  readonly field: Field;
  readonly struct: StructType;
  readonly from: number;
  readonly to: number;
  more?: Part[];
}

/** Notes a message, or a part more of one. Its first part stands for it among the values until it is read. */
function addPart<K>(parts: Part[], values: Map<K, unknown>, key: K, part: Part): void {
  const first = values.get(key) as Part | undefined;
  if (first === undefined) {
    values.set(key, part);
    parts.push(part);
  } else {
    first.more ??= [];
    first.more.push(part);
  }
}

/** The value of a map's entry that has none: lists and bytes are empty then, not nil. */
function absentValue(type: FieldType, version: string | undefined): unknown {
  if (type.form === "list") return [];
  return type.form === "scalar" && type.name === "bytes" ? "" : zeroOf(type, version);
}

function listIn(values: Map<string, unknown>, name: string): unknown[] {
  const known = values.get(name) as unknown[] | undefined;
  if (known !== undefined) return known;
  const list: unknown[] = [];
  values.set(name, list);
  return list;
}

function mapIn(values: Map<string, unknown>, name: string): Record<string, unknown> {
  const known = values.get(name) as Record<string, unknown> | undefined;
  if (known !== undefined) return known;
  const map: Record<string, unknown> = {};
  values.set(name, map);
  return map;
}

function wireOf(name: ScalarName): number {
  switch (name) {
    case "bool":
    case "int32":
    case "int64":
      return wire.varint;
    case "double":
      return wire.fixed64;
    default:
      return wire.block;
  }
}

function pathOf(struct: StructType, field: Field): string {
  return field.name === "" ? struct.name : `${struct.name}.${field.name}`;
}

function expect(reader: Reader, tag: number, kind: number, struct: StructType, field: Field): void {
  if ((tag & 7) === kind) return;
  reader.fail(`wrong wire type ${tag & 7} for field ${pathOf(struct, field)}, expected ${kind}`);
}

/** Steps through a small message of fixed shape: `take` reads the fields it knows and says so. */
function small(reader: Reader, end: number, take: (number: number, kind: number) => boolean): void {
  while (reader.at < end) {
    const tag = reader.tag(end);
    if (!take(tag >>> 3, tag & 7)) reader.skip(tag, end);
  }
}

function need(reader: Reader, kind: number, wanted: number, where: string): void {
  if (kind !== wanted) reader.fail(`wrong wire type ${kind} for field ${where}, expected ${wanted}`);
}

function rawJSON(reader: Reader, end: number, where: string): unknown {
  let text = "";
  small(reader, end, (number, kind) => {
    if (number !== 1) return false;
    need(reader, kind, wire.block, where);
    text = reader.text(reader.block(end));
    return true;
  });
  if (text === "") return null;
  try {
    return parseJSON(text);
  } catch (error) {
    throw new DecodeError(`${where}: ${(error as Error).message}`);
  }
}

function quantity(reader: Reader, end: number, where: string): string {
  let text: string | undefined;
  small(reader, end, (number, kind) => {
    if (number !== 1) return false;
    need(reader, kind, wire.block, where);
    text = reader.text(reader.block(end));
    return true;
  });
  try {
    return text === undefined ? "0" : canonicalQuantity(text);
  } catch (error) {
    throw new DecodeError(`${where}: ${(error as Error).message}`);
  }
}

function intOrString(reader: Reader, end: number, where: string): number | string {
  let kind: number | bigint = 0;
  let number = 0;
  let text = "";
  small(reader, end, (field, found) => {
    if (field > 3) return false;
    need(reader, found, field === 3 ? wire.block : wire.varint, where);
    if (field === 1) kind = reader.int64(end);
    else if (field === 2) number = reader.int32(end);
    else text = reader.text(reader.block(end));
    return true;
  });
  if (kind !== 0 && kind !== 1) reader.fail(`${where}: type ${kind} of an IntOrString, expected 0 or 1`);
  return kind === 0 ? number : text;
}

function duration(reader: Reader, end: number, where: string): string {
  let nanoseconds: number | bigint = 0;
  small(reader, end, (number, kind) => {
    if (number !== 1) return false;
    need(reader, kind, wire.varint, where);
    nanoseconds = reader.int64(end);
    return true;
  });
  return durationText(BigInt(nanoseconds));
}

function time(reader: Reader, end: number, name: "Time" | "MicroTime", where: string): string | null {
  if (reader.at >= end) return null;
  let seconds: number | bigint = 0;
  let nanoseconds = 0;
  small(reader, end, (number, kind) => {
    if (number > 2) return false;
    need(reader, kind, wire.varint, where);
    if (number === 1) seconds = reader.int64(end);
    else nanoseconds = reader.int32(end);
    return true;
  });
  const microseconds = name === "Time" ? 0 : Math.trunc(nanoseconds / 1000);
  // Number: a bigint lies beyond all years.
  const whole = Number(seconds) + Math.floor(microseconds / 1_000_000);
  const rest = microseconds - Math.floor(microseconds / 1_000_000) * 1_000_000;
  if (whole < times.first || whole > times.last) {
    reader.fail(`${where}: ${seconds} seconds since 1970 lie outside the years 0000 to 9999`);
  }
  if (whole === zeroTime && rest === 0) return null;
  const text = new Date(whole * 1000).toISOString().slice(0, 19);
  return name === "Time" ? `${text}Z` : `${text}.${String(rest).padStart(6, "0")}Z`;
}
