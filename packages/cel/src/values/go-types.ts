import { DomainMap } from "./domain-map.ts";
import { LiteralMap } from "./maps.ts";
import { MapValue, QuantityValue, typeName, Uint, type Value } from "./value.ts";

/** Three names of a value's type in Go, by the CEL name of the type. Error texts show them. */
interface GoNames {
  /** Type of the implementation of `ref.Val`. */
  readonly value: string;
  /** Type of the value after `ref.Val.Value()`, as `%T` prints it. */
  readonly native: string;
  /** As a failed conversion to bool writes it. */
  readonly conversion: string;
}

const names: Readonly<Record<string, Partial<GoNames>>> = {
  bool: { value: "types.Bool" },
  bytes: { value: "types.Bytes", native: "[]uint8", conversion: "Bytes" },
  double: { value: "types.Double", native: "float64", conversion: "Double" },
  "google.protobuf.Duration": {
    value: "types.Duration",
    native: "time.Duration",
    conversion: "'Duration'",
  },
  "google.protobuf.Timestamp": {
    value: "types.Timestamp",
    native: "time.Time",
    conversion: "'Timestamp'",
  },
  int: { value: "types.Int", native: "int64" },
  "kubernetes.NamedFormat": { value: "cel.Format", native: "cel.Format", conversion: "'Format'" },
  "kubernetes.Quantity": {
    value: "cel.Quantity",
    native: "*resource.Quantity",
    conversion: "'Quantity'",
  },
  "kubernetes.Semver": { value: "cel.Semver", native: "semver.Version", conversion: "'Semver'" },
  "kubernetes.URL": { value: "cel.URL", native: "*url.URL", conversion: "'URL'" },
  list: { value: "*types.baseList", native: "[]ref.Val" },
  map: { value: "*types.baseMap" },
  "net.CIDR": { value: "cel.CIDR", native: "netip.Prefix", conversion: "'CIDR'" },
  "net.IP": { value: "cel.IP", native: "netip.Addr", conversion: "'IP'" },
  null_type: { value: "types.Null", native: "structpb.NullValue", conversion: "'null_type'" },
  optional_type: { value: "*types.Optional" },
  string: { value: "types.String" },
  type: { value: "*types.Type" },
  uint: { value: "types.Uint" },
};

/** The Go type that implements a value: `types.Int`. */
export function goValueType(value: Value): string {
  if (value instanceof DomainMap) return "cel.mapper";
  const name = typeName(value);
  const goName = names[name]?.value ?? name;
  return value instanceof QuantityValue && value.computed ? `*${goName}` : goName;
}

/** The Go type of a value that was converted to a native value: `int64`. `undefined` stands for nil. */
export function goNativeType(value: Value | undefined): string {
  if (value === undefined) return "<nil>";
  if (value instanceof Uint) return "uint64";
  if (value instanceof LiteralMap) return "map[ref.Val]ref.Val";
  if (value instanceof MapValue) return "map[string]interface {}";
  const name = typeName(value);
  return names[name]?.native ?? name;
}

/** The name of a value's type in the error of a failed conversion to bool. */
export function goConversionType(value: Value): string {
  const name = typeName(value);
  return names[name]?.conversion ?? name;
}
