/** How error messages of Go name the types of fields. */
import goTypes from "./go-types.json" with { type: "json" };
import type { Field, FieldType, ScalarName } from "./types.ts";

let named: ReadonlyMap<string, string> | undefined;

/**
 * Go's name of the type of a field: `v1.Protocol`. A list of known values has the name of its type; other
 * named types are in go-types.json.
 */
export function goTypeOf({ id, marks, type }: Field): string {
  named ??= new Map(Object.entries(goTypes).flatMap(([name, ids]) => ids.map((id) => [id, name] as const)));
  const alias = marks.values?.slice(marks.values.indexOf("/") + 1);
  return named.get(id) ?? (alias === undefined ? goName(type) : goName(type).replace("string", alias));
}

/** How Go names the elements of a list or map of that name. */
export function goElement(name: string, type: FieldType): string {
  const element = /^(?:\[\]|map\[[^\]]*\])(.*)$/.exec(name)?.[1];
  return element ?? goName(type);
}

/** How Go names the type: `v1.PodSpec`, `[]string`, `map[string]string`. */
export function goName(type: FieldType): string {
  switch (type.form) {
    case "list":
      return `[]${goName(type.element)}`;
    case "map":
      return `map[string]${goName(type.value)}`;
    case "struct":
      return type.struct.name.slice(type.struct.name.indexOf("/") + 1);
    case "scalar":
      return goScalars[type.name] ?? type.name;
  }
}

const goScalars: Partial<Record<ScalarName, string>> = {
  double: "float64",
  bytes: "[]uint8",
  any: "interface {}",
  Quantity: "resource.Quantity",
  Time: "v1.Time",
  MicroTime: "v1.MicroTime",
  Duration: "v1.Duration",
  IntOrString: "intstr.IntOrString",
  RawExtension: "runtime.RawExtension",
  FieldsV1: "v1.FieldsV1",
};
