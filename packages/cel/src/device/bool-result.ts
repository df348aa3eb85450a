import { goConversionType } from "../values/go-types.ts";
import { CelError, Optional, typeName, type Value } from "../values/value.ts";

/** Converts the result of a selector to a bool; an optional bool is one, too. */
export function boolResult(value: Value): boolean | CelError {
  const result = toBool(value);
  if (typeof result === "boolean") return result;
  return new CelError(`CEL result of type ${typeName(value)} could not be converted to bool: ${result}`);
}

/** Returns an error text for a value that is not a bool. */
function toBool(value: Value): boolean | string {
  if (typeof value === "boolean") return value;
  if (value instanceof Optional) {
    return value.value === undefined ? "optional.none() dereference" : toBool(value.value);
  }
  const name = typeName(value);
  switch (name) {
    case "string":
      return "unsupported native conversion from string to 'bool'";
    case "int":
    case "uint":
      return `unsupported type conversion from '${name}' to bool`;
    case "type":
      return "type conversion not supported for 'type'";
    default:
      return `type conversion error from ${goConversionType(value)} to 'bool'`;
  }
}
