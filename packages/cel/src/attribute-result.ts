import { semanticVersionText } from "@dray/api";
import type { DeviceAttribute } from "@dray/api/resource/v1";
import { LiteralMap } from "./maps.ts";
import {
  CelError,
  MapValue,
  Optional,
  SemverValue,
  TypeValue,
  typeName,
  Uint,
  type Value,
} from "./values.ts";

/** What Go's conversion to a native value makes of one: optional values become what they hold, types their names. */
function native(value: Value): Value | undefined {
  if (value instanceof Optional) return value.value === undefined ? undefined : native(value.value);
  return value instanceof TypeValue ? value.name : value;
}

const goNames: Readonly<Record<string, string>> = {
  bytes: "[]uint8",
  double: "float64",
  "google.protobuf.Duration": "time.Duration",
  "google.protobuf.Timestamp": "time.Time",
  int: "int64",
  "kubernetes.NamedFormat": "cel.Format",
  "kubernetes.Quantity": "*resource.Quantity",
  "kubernetes.Semver": "semver.Version",
  "kubernetes.URL": "*url.URL",
  list: "[]ref.Val",
  "net.CIDR": "netip.Prefix",
  "net.IP": "netip.Addr",
  null_type: "structpb.NullValue",
};

/** Go's name of the type of a native value, as `%T` prints it. */
export function goName(value: Value | undefined): string {
  if (value === undefined) return "<nil>";
  if (value instanceof Uint) return "uint64";
  if (value instanceof LiteralMap) return "map[ref.Val]ref.Val";
  if (value instanceof MapValue) return "map[string]interface {}";
  const name = typeName(value);
  return goNames[name] ?? name;
}

const scalarNames: Readonly<Record<string, string>> = {
  bool: "bool",
  int: "int",
  string: "string",
  "kubernetes.Semver": "semver",
};

/** The attribute that holds a value (KEP-5491: a scalar or a list of scalars), or why none can. */
export function attributeResult(value: Value): DeviceAttribute | CelError {
  if (Array.isArray(value)) return listResult(value as readonly Value[]);
  const scalar = native(value);
  if (typeof scalar === "boolean") return { bool: scalar };
  if (typeof scalar === "bigint") return { int: scalar };
  if (typeof scalar === "string") return { string: scalar };
  if (scalar instanceof SemverValue) return { version: semanticVersionText(scalar.version) };
  return new CelError(`unsupported CEL return type: ${goName(scalar)}`);
}

function listResult(list: readonly Value[]): DeviceAttribute | CelError {
  if (list.length === 0) return { strings: [] };
  const values = list.map(native);
  const name = values[0] === undefined ? undefined : scalarNames[typeName(values[0])];
  if (name === undefined) return new CelError(`unsupported list element type: ${goName(values[0])}`);
  const odd = values.findIndex((v) => v === undefined || scalarNames[typeName(v)] !== name);
  if (odd >= 0) {
    return new CelError(`expected list element at index ${odd} to be ${name}, got ${goName(values[odd])}`);
  }
  switch (name) {
    case "bool":
      return { bools: values as boolean[] };
    case "int":
      return { ints: values as bigint[] };
    case "string":
      return { strings: values as string[] };
    default:
      return { versions: (values as SemverValue[]).map(({ version }) => semanticVersionText(version)) };
  }
}
