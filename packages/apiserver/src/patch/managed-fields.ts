import type { ManagedFieldsEntry } from "@dray/api/meta/v1";
import { fieldOf, isEmpty, isObject, type JsonObject, withField, withoutField } from "../json/values.ts";
import { encodeFieldSet } from "./canonical-sets.ts";
import { decodeFieldSet, type FieldSet } from "./field-set.ts";

/** An entry of metadata.managedFields: the fields of one manager. */
export interface ManagedEntry {
  readonly manager: string;
  readonly operation: "Apply" | "Update";
  /** The version in which the manager wrote the object. */
  readonly apiVersion: string;
  readonly subresource: string;
  readonly time: string | undefined;
  readonly fields: FieldSet;
  /** The stored entry, if unchanged. */
  readonly source?: ManagedFieldsEntry;
}

/** The entries of an object by `entryKey`. */
export type Managed = Map<string, ManagedEntry>;

/**
 * Returns the identity of an entry: an applier has one whatever its version, an updater one for each version.
 */
export function entryKey(
  entry: Pick<ManagedEntry, "manager" | "operation" | "apiVersion" | "subresource">,
): string {
  const { manager, operation, apiVersion, subresource } = entry;
  const version = operation === "Apply" ? "" : `,"apiVersion":${JSON.stringify(apiVersion)}`;
  const part = subresource === "" ? "" : `,"subresource":${JSON.stringify(subresource)}`;
  return `{"manager":${JSON.stringify(manager)},"operation":"${operation}"${version}${part}}`;
}

/** Decodes the entries of an object or a client. Throws an Error that names the malformed entry. */
export function decodeManaged(entries: unknown): Managed {
  const managed: Managed = new Map();
  if (entries === undefined || entries === null) return managed;
  if (!Array.isArray(entries)) throw new Error("managedFields must be a list");
  for (const [i, source] of entries.entries()) {
    const entry = decodeEntry(source, i);
    managed.set(entryKey(entry), entry);
  }
  return managed;
}

function decodeEntry(source: unknown, i: number): ManagedEntry {
  if (!isObject(source)) throw new Error(`managed fields entry ${i} must be an object`);
  const text = (key: string): string => {
    const value = fieldOf(source, key);
    return typeof value === "string" ? value : "";
  };
  const operation = text("operation");
  if (operation !== "Apply" && operation !== "Update")
    throw new Error("operation must be `Apply` or `Update`");
  if (text("apiVersion") === "") throw new Error("apiVersion must not be empty");
  const fieldsType = text("fieldsType");
  if (fieldsType === "") throw new Error(`missing fieldsType in managed fields entry ${i}`);
  if (fieldsType !== "FieldsV1") {
    throw new Error(`invalid fieldsType ${JSON.stringify(fieldsType)} in managed fields entry ${i}`);
  }
  const written = fieldOf(source, "fieldsV1");
  const fields = decodeFieldSet(written);
  return {
    manager: text("manager"),
    operation,
    apiVersion: text("apiVersion"),
    subresource: text("subresource"),
    time: text("time") || undefined,
    fields,
    ...(fields === written ? { source: source as ManagedFieldsEntry } : {}),
  };
}

/** Encodes the entries in the server's order; undefined if empty. */
export function encodeManaged(managed: Managed): readonly ManagedFieldsEntry[] | undefined {
  if (managed.size === 0) return undefined;
  return [...managed.values()].sort(compareEntries).map(encodeEntry);
}

function encodeEntry(entry: ManagedEntry): ManagedFieldsEntry {
  if (entry.source !== undefined) return entry.source;
  return {
    ...(entry.manager === "" ? {} : { manager: entry.manager }),
    operation: entry.operation,
    apiVersion: entry.apiVersion,
    ...(entry.time === undefined ? {} : { time: entry.time }),
    fieldsType: "FieldsV1",
    fieldsV1: encodeFieldSet(entry.fields),
    ...(entry.subresource === "" ? {} : { subresource: entry.subresource }),
  };
}

/** Appliers first, then by time, oldest first, then by name. */
function compareEntries(a: ManagedEntry, b: ManagedEntry): number {
  return (
    compareText(a.operation, b.operation) ||
    compareText(a.time ?? "", b.time ?? "") ||
    compareText(a.manager, b.manager) ||
    compareText(a.apiVersion, b.apiVersion) ||
    compareText(a.subresource, b.subresource)
  );
}

export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Returns an entry with other fields; the entry itself if they are the same. */
export function withFields(entry: ManagedEntry, fields: FieldSet): ManagedEntry {
  if (fields === entry.fields) return entry;
  const { source: _, ...rest } = entry;
  return { ...rest, fields };
}

/** Returns an entry with another time. */
export function withTime(entry: ManagedEntry, time: string): ManagedEntry {
  if (time === entry.time) return entry;
  const { source: _, ...rest } = entry;
  return { ...rest, time };
}

export function managedFieldsOf(object: JsonObject): unknown {
  const metadata = fieldOf(object, "metadata");
  return isObject(metadata) ? fieldOf(metadata, "managedFields") : undefined;
}

/** Returns true for `[]` and `[{}]`, with which a client removes all entries. */
export function isReset(entries: unknown): boolean {
  if (!Array.isArray(entries)) return false;
  return entries.length === 0 || (entries.length === 1 && isObject(entries[0]) && isEmpty(entries[0]));
}

/** Returns the object with these entries; the object itself if it has them already. */
export function withManagedFields(object: JsonObject, managed: Managed): JsonObject {
  const entries = encodeManaged(managed);
  const metadata = fieldOf(object, "metadata");
  const current = isObject(metadata) ? metadata : {};
  if (entries === undefined) {
    if (!Object.hasOwn(current, "managedFields")) return object;
    return withField(object, "metadata", withoutField(current, "managedFields"));
  }
  const known = fieldOf(current, "managedFields");
  const same =
    Array.isArray(known) &&
    known.length === entries.length &&
    entries.every((entry, i) => entry === known[i]);
  return same ? object : withField(object, "metadata", withField(current, "managedFields", entries));
}
