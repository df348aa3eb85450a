import type { Provenance } from "../codec/provenance.ts";
import { type FieldRow, typeRows, zeroScalars } from "../schema/table.ts";
import type { Shown } from "./field.ts";
import forms from "./internal-forms.json" with { type: "json" };

const capitals: Readonly<Record<string, string | undefined>> = forms.capitals;
/** By the first release that has them, oldest first. */
const orders: readonly (readonly [release: string, Readonly<Record<string, string | undefined>>])[] =
  Object.entries(forms.types);

function orderOf(type: string, version: string): string | undefined {
  return orders.findLast(([release, types]) => release <= version && types[type] !== undefined)?.[1][type];
}

/** One field of a struct of the server: its Go name, and where its value comes from. */
interface InternalField {
  /** "" for one that the API has no field for. */
  readonly name: string;
  readonly goName: string;
  /** Value of a field that the API's type does not have. */
  readonly constant: unknown;
  readonly row: FieldRow | undefined;
  /** Type of a struct whose fields the API has among those of the outer one. */
  readonly inlined: string | undefined;
}

const goName = (name: string): string => capitals[name] ?? name.charAt(0).toUpperCase() + name.slice(1);

/** The fields of a type with those of inlined structs among them. */
function flatRows(type: string): FieldRow[] {
  return (typeRows.get(type) ?? []).flatMap((row) => (row[3]?.inline ? flatRows(row[2]) : [row]));
}

function inlinedType(type: string, name: string | undefined): string | undefined {
  return typeRows.get(type)?.find((row) => row[3]?.inline && row[2].endsWith(`.${name}`))?.[2];
}

const known = new Map<string, readonly InternalField[]>();

/**
 * The fields of the server's own struct in order: those of the API's type, unless the data says otherwise.
 */
function internalFields(type: string, version: string): readonly InternalField[] {
  const order = orderOf(type, version);
  const key = `${type} ${order ?? ""}`;
  const found = known.get(key);
  if (found !== undefined) return found;
  const rows = new Map(flatRows(type).map((row) => [row[0], row]));
  const names = order?.split(" ") ?? [...rows.keys()];
  const fields = names.map((text): InternalField => {
    const [, name = "", own, constant] = /^([^:]*)(?::([^=]+)(?:=(.*))?)?$/.exec(text) ?? [];
    const value: unknown = constant === undefined ? undefined : JSON.parse(constant);
    const inlined = name === "" && constant === undefined ? inlinedType(type, own) : undefined;
    return { name, goName: own ?? goName(name), constant: value, row: rows.get(name), inlined };
  });
  known.set(key, fields);
  return fields;
}

function zeroOf(type: string, shown: Shown): unknown {
  if (type.startsWith("[]") || type.startsWith("map<")) return null;
  return zeroScalars.get(type) ?? (typeRows.has(type) ? internalForm(type, {}, shown) : null);
}

type Tree = Readonly<Record<string, unknown>>;

const podFields = ["hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers"];

/** Before 1.37, the server's own pods have what concerns the host's namespaces in the security context. */
function withHostFields(spec: Tree, provenance: Provenance | undefined): Tree {
  const moved = podFields.filter((name) => spec[name] !== undefined).map((name) => [name, spec[name]]);
  const context = (spec["securityContext"] ?? {}) as Tree;
  const securityContext = { ...context, ...Object.fromEntries(moved) };
  provenance?.keepEmpty(securityContext, context);
  const copy = { ...spec, securityContext };
  return provenance?.keepEmpty(copy, spec) ?? copy;
}

/**
 * A value as the API server's messages print it where they show its own structs: every field with its Go
 * name, unset ones too. `type` is a name of the schema table; fields that the release does not have yet are
 * left out.
 */
export function internalForm(type: string, value: unknown, shown: Shown): unknown {
  const { release: version, provenance } = shown;
  if (value === undefined || value === null) return null;
  if (type.startsWith("[]")) {
    return (value as readonly unknown[]).map((item) => internalForm(type.slice(2), item, shown));
  }
  if (type.startsWith("map<")) {
    const item = type.slice(4, -1);
    const entries = Object.entries(value as object).sort(([a], [b]) => (a < b ? -1 : 1));
    return Object.fromEntries(entries.map(([key, each]) => [key, internalForm(item, each, shown)]));
  }
  // The shared types are those of the API: they keep their JSON names, and leave out what is unset.
  if (!typeRows.has(type)) return value;
  if (type.startsWith("meta/")) return sharedForm(type, value as Tree, shown);
  const source = value as Tree;
  const moved = type === "core/v1.PodSpec" && version < "1.37";
  const object = moved ? withHostFields(source, provenance) : source;
  const result: Record<string, unknown> = {};
  for (const { name, goName: key, constant, row, inlined } of internalFields(type, version)) {
    if (row === undefined) {
      result[key] = inlined === undefined ? (object[name] ?? constant) : internalForm(inlined, object, shown);
      continue;
    }
    const [, , fieldType, marks = {}] = row;
    if (marks.since !== undefined && marks.since > version) continue;
    if (marks.until !== undefined && marks.until < version) continue;
    if (fieldType === "meta/v1.ObjectMeta") {
      const { creationTimestamp, ...metadata } = (object[name] ?? {}) as Tree;
      const ordered = creationTimestamp ? { creationTimestamp, ...metadata } : metadata;
      Object.assign(result, sharedForm(fieldType, ordered, shown));
      continue;
    }
    // An unset field that is not a pointer in the server has a value.
    const value = object[name] ?? constant;
    result[key] = internalField(value, fieldType, marks.pointer === true, shown);
    if (result[key] === null && provenance?.cameEmpty(source, name))
      result[key] = fieldType.startsWith("[]") ? [] : {};
  }
  return result;
}

/**
 * A struct that is the same inside the server, its fields in order and its maps sorted, as Go writes them.
 */
function sharedForm(type: string, value: Tree, shown: Shown): Tree {
  if (typeof value !== "object") return value;
  return Object.fromEntries(
    flatRows(type)
      .filter(([name]) => value[name] !== undefined)
      .map(([name, , fieldType]) => [name, internalForm(fieldType, value[name], shown)]),
  );
}

function internalField(value: unknown, type: string, pointer: boolean, shown: Shown): unknown {
  if (value !== undefined && value !== null) return internalForm(type, value, shown);
  return pointer ? null : zeroOf(type, shown);
}
