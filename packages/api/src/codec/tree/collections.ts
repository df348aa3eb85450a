import { setKey } from "../../json/parser.ts";
import type { FieldType } from "../../schema/types.ts";
import { thaw } from "../thaw.ts";
import { zeroOf } from "../written.ts";
import { Findings } from "./findings.ts";
import { type Read, type ReaderOf, readsNull } from "./read.ts";
import { formOf, isTree, partOf } from "./values.ts";

/** Reads a list whose elements have that type. */
export function listReader(element: FieldType, version: string | undefined, readerOf: ReaderOf): Read {
  const read = partReader(element, version, readerOf);
  return (value, findings, known) => {
    if (value === known && typeof value === "object") return thaw(value);
    if (!Array.isArray(value)) return findings.mismatch(formOf(value));
    const list: unknown[] = [];
    const { notes } = findings.options;
    for (let i = 0; i < value.length; i++) {
      const part: unknown = value[i];
      const before = findings.faults.length;
      const literal = typeof part === "number" ? notes.literalOf(value, i) : undefined;
      list.push(read(part, findings, partOf(known, i), literal));
      if (findings.faults.length !== before && findings.locate(before, i)) return undefined;
    }
    return list;
  };
}

/** Reads a map with string keys whose values have that type. */
export function mapReader(element: FieldType, version: string | undefined, readerOf: ReaderOf): Read {
  const read = partReader(element, version, readerOf);
  const isString = element.form === "scalar" && element.name === "string";
  return (value, findings, known) => {
    if (value === known && typeof value === "object") return thaw(value);
    if (!isTree(value)) return findings.mismatch(formOf(value));
    const { notes, owned } = findings.options;
    const entries = notes.repeatedEntries(value);
    if (entries !== undefined) {
      return readRepeatedKeys(entries, findings, (part, found, name) =>
        read(
          part,
          found,
          partOf(known, name),
          typeof part === "number" ? notes.literalOf(value, name) : undefined,
        ),
      );
    }
    if (isString && owned && hasOnlyStrings(value)) return value;
    const map: Record<string, unknown> = {};
    for (const name in value) {
      const part = value[name];
      const before = findings.faults.length;
      const literal = typeof part === "number" ? notes.literalOf(value, name) : undefined;
      setKey(map, name, read(part, findings, partOf(known, name), literal));
      if (findings.faults.length !== before && findings.locate(before, name)) return undefined;
    }
    return map;
  };
}

/** The last value of a repeated key counts; the ones before are read for their faults. */
function readRepeatedKeys(
  entries: Iterable<readonly [string, unknown]>,
  findings: Findings,
  read: (part: unknown, found: Findings, name: string) => unknown,
): Record<string, unknown> | undefined {
  const since = findings.faults.length;
  const seen = new Set<string>();
  const map: Record<string, unknown> = {};
  for (const [name, part] of entries) {
    if (seen.has(name)) findings.problemOnce("duplicate", name, since);
    seen.add(name);
    const found = new Findings(findings.options);
    setKey(map, name, read(part, found, name));
    if (findings.adopt(found, name, since)) return undefined;
  }
  return map;
}

/** Reads an element or a value of a map: Go has the zero value for null and for unset values. */
function partReader(type: FieldType, version: string | undefined, readerOf: ReaderOf): Read {
  const read = readerOf(type);
  const nullable = readsNull(type);
  return (value, findings, known, literal) => {
    const part = value === null && !nullable ? undefined : read(value, findings, known, literal);
    return part === undefined && findings.stop === undefined ? zeroOf(type, version) : part;
  };
}

function hasOnlyStrings(map: Readonly<Record<string, unknown>>): boolean {
  for (const key in map) if (typeof map[key] !== "string") return false;
  return true;
}
