import { semanticVersionText } from "@dray/api";
import type { DeviceAttribute } from "@dray/api/resource/v1";
import { goNativeType } from "../values/go-types.ts";
import { CelError, Optional, SemverValue, TypeValue, typeName, type Value } from "../values/value.ts";

/** Converts as Go does to a native value: an optional value to its content, a type to its name. */
function native(value: Value): Value | undefined {
  if (value instanceof Optional) return value.value === undefined ? undefined : native(value.value);
  return value instanceof TypeValue ? value.name : value;
}

const scalarNames: Readonly<Record<string, string>> = {
  bool: "bool",
  int: "int",
  string: "string",
  "kubernetes.Semver": "semver",
};

/** Converts a value to an attribute (KEP-5491): a scalar or a list of scalars. */
export function attributeResult(value: Value): DeviceAttribute | CelError {
  if (Array.isArray(value)) return listResult(value as readonly Value[]);
  const scalar = native(value);
  if (typeof scalar === "boolean") return { bool: scalar };
  if (typeof scalar === "bigint") return { int: scalar };
  if (typeof scalar === "string") return { string: scalar };
  if (scalar instanceof SemverValue) return { version: semanticVersionText(scalar.version) };
  return new CelError(`unsupported CEL return type: ${goNativeType(scalar)}`);
}

function listResult(list: readonly Value[]): DeviceAttribute | CelError {
  if (list.length === 0) return { strings: [] };
  const values = list.map(native);
  const name = values[0] === undefined ? undefined : scalarNames[typeName(values[0])];
  if (name === undefined) return new CelError(`unsupported list element type: ${goNativeType(values[0])}`);
  const odd = values.findIndex((v) => v === undefined || scalarNames[typeName(v)] !== name);
  if (odd >= 0) {
    return new CelError(
      `expected list element at index ${odd} to be ${name}, got ${goNativeType(values[odd])}`,
    );
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
