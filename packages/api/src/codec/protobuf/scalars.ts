import { JSONError, JSONParser } from "../../json/parser.ts";
import type { ScalarName } from "../../schema/types.ts";
import { durationText } from "../../values/duration.ts";
import { canonicalQuantity } from "../../values/quantity.ts";
import { DecodeError } from "../decode-error.ts";
import { largeMessage, type Reader, unfinished } from "./reader.ts";
import { times, zeroTime } from "./time.ts";
import { wire } from "./writer.ts";

/**
 * Reads the value of a field after its tag: a number, or a length and as many bytes. `end`: of the message.
 */
export type ReadValue = (reader: Reader, end: number) => unknown;

/** The wire type of a scalar. */
export function wireOf(name: ScalarName): number {
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

/** The reader of a scalar; `where` names its field in errors: `core/v1.Container.name`. */
export function scalarReader(name: ScalarName, where: string): ReadValue {
  switch (name) {
    case "string":
      return (reader, end) => reader.text(reader.block(end));
    case "bytes":
      return (reader, end) => reader.base64(reader.block(end));
    case "bool":
      return (reader, end) => reader.bool(end);
    case "int32":
      return (reader, end) => reader.int32(end);
    case "int64":
      return (reader, end) => reader.int64(end);
    case "double":
      return (reader, end) => reader.double(end);
    case "any":
      return () => {
        throw new TypeError(`${name} has no protobuf form`);
      };
    case "RawExtension":
    case "FieldsV1":
      return (reader, end) => rawJSON(reader, reader.block(end), where);
    case "Quantity":
      return (reader, end) => quantity(reader, reader.block(end), where);
    case "Time":
    case "MicroTime":
      return (reader, end) => time(reader, reader.block(end), name, where);
    case "Duration":
      return (reader, end) => duration(reader, reader.block(end), where);
    case "IntOrString":
      return (reader, end) => intOrString(reader, reader.block(end), where);
  }
}

/** Reads a small message of fixed shape. `take` reads a known field, and returns whether it is one. */
function small(reader: Reader, end: number, take: (number: number, kind: number) => boolean): void {
  while (reader.at < end) {
    const tag = reader.tag(end);
    if (!take(tag >>> 3, tag & 7)) reader.skip(tag, end);
  }
}

function need(reader: Reader, kind: number, wanted: number, where: string): void {
  if (kind !== wanted) reader.fail(`wrong wire type ${kind} for field ${where}, expected ${wanted}`);
}

/** The JSON text in a message of one field; null if it is empty. */
export function rawJSON(reader: Reader, end: number, where: string): unknown {
  const { at: start } = reader;
  const pieces = end - start < largeMessage ? undefined : reader.pieces;
  const parser = (pieces?.begun.get(start) as JSONParser | undefined) ?? parserOfText(reader, end, where);
  if (parser === undefined) return null;
  try {
    if (!parser.run(pieces?.isDue)) {
      pieces?.begun.set(start, parser);
      throw unfinished;
    }
  } catch (error) {
    if (!(error instanceof JSONError)) throw error;
    throw new DecodeError(`${where}: ${error.message}`);
  }
  pieces?.begun.delete(start);
  reader.at = end;
  const { value, notes } = parser.tree;
  const loose = typeof value === "object" && value !== null ? notes.looseText(value) : undefined;
  if (loose !== undefined) reader.provenance.noteRawText(value as object, loose);
  return value;
}

function parserOfText(reader: Reader, end: number, where: string): JSONParser | undefined {
  let text = "";
  small(reader, end, (number, kind) => {
    if (number !== 1) return false;
    need(reader, kind, wire.block, where);
    text = reader.text(reader.block(end));
    return true;
  });
  return text === "" ? undefined : new JSONParser(text, reader.maxValues);
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
