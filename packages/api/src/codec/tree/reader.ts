import type { FieldType, StructType } from "../../schema/types.ts";
import { thaw } from "../thaw.ts";
import { listReader, mapReader } from "./collections.ts";
import type { Findings } from "./findings.ts";
import type { Read } from "./read.ts";
import { scalarReaders } from "./scalars.ts";
import { StructReader } from "./struct.ts";
import { unionReader } from "./union.ts";

/** Reads trees as one struct type in one release. */
export interface TypeReader {
  /** As a part of another value. */
  readonly read: Read;
  /** As the whole tree. */
  readWhole(tree: unknown, findings: Findings, known: object | undefined): unknown;
}

const readers = new WeakMap<StructType, Map<string | undefined, TypeReader>>();

/**
 * The reader of a struct type, compiled on first use. `version` is the release whose fields are known, all if
 * absent.
 */
export function structReader(struct: StructType, version: string | undefined): TypeReader {
  let byVersion = readers.get(struct);
  if (byVersion === undefined) {
    byVersion = new Map();
    readers.set(struct, byVersion);
  }
  let reader = byVersion.get(version);
  if (reader === undefined) {
    reader = compile(struct, version);
    byVersion.set(version, reader);
  }
  return reader;
}

function compile(struct: StructType, version: string | undefined): TypeReader {
  const readerOf = (type: FieldType): Read => fieldReader(type, version);
  if (struct.anyJSON) return { read: scalarReaders.any, readWhole: (tree) => tree };
  if (struct.alternatives !== undefined) {
    const read = unionReader(struct.alternatives, readerOf);
    return { read, readWhole: (tree, findings) => read(tree, findings, undefined, undefined) };
  }
  const reader = new StructReader(struct, version, readerOf);
  return {
    read: (value, findings, known) =>
      value === known && typeof value === "object" ? thaw(value) : reader.read(value, findings, known, false),
    readWhole: (tree, findings, known) => reader.read(tree, findings, known, true),
  };
}

function fieldReader(type: FieldType, version: string | undefined): Read {
  const readerOf = (part: FieldType): Read => fieldReader(part, version);
  switch (type.form) {
    case "scalar":
      return scalarReaders[type.name];
    case "list":
      return listReader(type.element, version, readerOf);
    case "map":
      return mapReader(type.value, version, readerOf);
    case "struct": {
      // Found on first use: types contain themselves.
      let read: Read | undefined;
      return (value, findings, known, literal) => {
        read ??= structReader(type.struct, version).read;
        return read(value, findings, known, literal);
      };
    }
  }
}
