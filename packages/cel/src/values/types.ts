/** A type of the checker. Equal types can be different objects: compare them with `sameType`. */
export interface CelType {
  readonly kind: TypeKind;
  /** The name at run time: `int`, `list`, `kubernetes.Quantity`; for a parameter its letter. */
  readonly name: string;
  readonly params: readonly CelType[];
}

export type TypeKind =
  | "any"
  | "bool"
  | "bytes"
  | "double"
  | "duration"
  | "dyn"
  | "error"
  | "int"
  | "list"
  | "map"
  | "null"
  | "opaque"
  | "param"
  | "string"
  | "struct"
  | "timestamp"
  | "type"
  | "uint";

const none: readonly CelType[] = [];
const make = (kind: TypeKind, name: string, params = none): CelType => ({ kind, name, params });

export const anyType = make("any", "google.protobuf.Any");
export const boolType = make("bool", "bool");
export const bytesType = make("bytes", "bytes");
export const doubleType = make("double", "double");
export const durationType = make("duration", "google.protobuf.Duration");
export const dynType = make("dyn", "dyn");
export const errorType = make("error", "*error*");
export const intType = make("int", "int");
export const nullType = make("null", "null_type");
export const stringType = make("string", "string");
export const timestampType = make("timestamp", "google.protobuf.Timestamp");
export const typeType = make("type", "type");
export const uintType = make("uint", "uint");
export const quantityType = make("struct", "kubernetes.Quantity");
export const semverType = make("struct", "kubernetes.Semver");

export const listType = (element: CelType): CelType => make("list", "list", [element]);
export const mapType = (key: CelType, value: CelType): CelType => make("map", "map", [key, value]);
export const optionalType = (value: CelType): CelType => make("opaque", "optional_type", [value]);
export const typeOf = (type: CelType): CelType => make("type", "type", [type]);
export const typeParam = (name: string): CelType => make("param", name);
/** A type whose fields the environment declares. */
export const structType = (name: string): CelType => make("struct", name);

export const isDyn = (type: CelType): boolean => type.kind === "dyn" || type.kind === "any";
export const isDynOrError = (type: CelType): boolean => isDyn(type) || type.kind === "error";
export const isOptional = (type: CelType): boolean => type.kind === "opaque" && type.name === "optional_type";

export function sameType(a: CelType, b: CelType): boolean {
  if (a === b) return true;
  return (
    a.kind === b.kind &&
    a.name === b.name &&
    a.params.length === b.params.length &&
    a.params.every((param, i) => sameType(param, b.params[i]!))
  );
}

/** The name in errors of the checker: `list(int)`, `null`, `duration`. */
export function checkerName(type: CelType): string {
  switch (type.kind) {
    case "any":
    case "duration":
    case "null":
    case "timestamp":
      return type.kind;
    case "error":
      return "!error!";
    default:
      return withParams(type, checkerName);
  }
}

/** The name in errors about the output type: `list(int)`, `null_type`, `google.protobuf.Duration`. */
export function declaredName(type: CelType): string {
  return withParams(type, declaredName);
}

function withParams(type: CelType, name: (type: CelType) => string): string {
  return type.params.length === 0 ? type.name : `${type.name}(${type.params.map(name).join(", ")})`;
}

/** `(int, string)` or, with a receiver, `string.(int)`. */
export function callName(args: readonly CelType[], member: boolean): string {
  const names = args.map(checkerName);
  return member ? `${names[0]}.(${names.slice(1).join(", ")})` : `(${names.join(", ")})`;
}
