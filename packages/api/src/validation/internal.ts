import { typeRows } from "../schema/table.ts";

/** Names that the server's own structs write otherwise than with a capital. */
const capitals: Readonly<Record<string, string>> = {
  cel: "CEL",
  uid: "UID",
  ip: "IP",
  ips: "IPs",
  int: "IntValue",
  bool: "BoolValue",
  string: "StringValue",
  version: "VersionValue",
  ints: "IntValues",
  bools: "BoolValues",
  strings: "StringValues",
  versions: "VersionValues",
};

const attributeType = "resource/v1.DeviceAttribute";
const valueNames = new Set(["int", "bool", "string", "version", "ints", "bools", "strings", "versions"]);

function structName(type: string, name: string): string {
  const special = Object.hasOwn(capitals, name) ? capitals[name] : undefined;
  if (special !== undefined && (type === attributeType || !valueNames.has(name))) return special;
  return name.charAt(0).toUpperCase() + name.slice(1);
}

function zeroOf(type: string, version: string): unknown {
  if (type.startsWith("[]") || type.startsWith("map<")) return null;
  switch (type) {
    case "string":
      return "";
    case "bool":
      return false;
    case "int32":
    case "int64":
    case "double":
      return 0;
    case "Quantity":
      return "0";
    default:
      return typeRows.has(type) ? internalForm(type, {}, version) : null;
  }
}

/**
 * A value as the API server's messages print it where they show its own structs: every field with its Go name, unset
 * ones too. `type` is a name of the schema table; fields that `version` does not have yet are left out.
 */
export function internalForm(type: string, value: unknown, version: string): unknown {
  if (value === undefined || value === null) return null;
  if (type.startsWith("[]")) {
    return (value as readonly unknown[]).map((item) => internalForm(type.slice(2), item, version));
  }
  if (type.startsWith("map<")) {
    const item = type.slice(4, -1);
    const entries = Object.entries(value as object).sort(([a], [b]) => (a < b ? -1 : 1));
    return Object.fromEntries(entries.map(([key, each]) => [key, internalForm(item, each, version)]));
  }
  const rows = typeRows.get(type);
  if (rows === undefined) return value;
  const object = value as Readonly<Record<string, unknown>>;
  const result: Record<string, unknown> = {};
  for (const [name, , fieldType, marks = {}] of rows) {
    if (marks.since !== undefined && marks.since > version) continue;
    if (marks.until !== undefined && marks.until < version) continue;
    if (marks.inline) {
      Object.assign(result, internalForm(fieldType, object, version));
      continue;
    }
    // Metadata keeps its JSON names in the server's structs, and leaves out what is unset.
    if (fieldType === "meta/v1.ObjectMeta") {
      const { creationTimestamp: _unset, ...metadata } = (object[name] ?? {}) as Readonly<
        Record<string, unknown>
      >;
      Object.assign(result, metadata);
      continue;
    }
    const field = object[name];
    const unset = field === undefined || field === null;
    result[structName(type, name)] = unset
      ? marks.pointer
        ? null
        : zeroOf(fieldType, version)
      : internalForm(fieldType, field, version);
  }
  return result;
}
