import { type FieldType, goElement, goTypeOf, type StructType } from "@dray/api/codec";
import { goJsonType } from "../json/go-text.ts";
import { fieldOf, isNumeric, isObject } from "../json/values.ts";

/**
 * Returns why a tree cannot be converted to an object of that type, with the message of Kubernetes'
 * converter, which is used for strategic merge patches and not for JSON (k8s.io/apimachinery/pkg/runtime,
 * FromUnstructured); undefined if the converter has no message of its own.
 */
export function restoreProblem(tree: unknown, struct: StructType): string | undefined {
  if (tree === null || tree === undefined || struct.anyJSON || struct.alternatives !== undefined)
    return undefined;
  if (!isObject(tree)) return `cannot restore struct from: ${goKind(tree)}`;
  for (const [name, field] of struct.fields) {
    const problem = problemOf(fieldOf(tree, name), field.type, goTypeOf(field));
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** `name`: Go's name of the type. */
function problemOf(value: unknown, type: FieldType, name: string): string | undefined {
  if (value === null || value === undefined) return undefined;
  switch (type.form) {
    case "struct":
      return restoreProblem(value, type.struct);
    case "list":
      if (!Array.isArray(value)) return `cannot restore slice from ${goKind(value)}`;
      return firstProblem(value, type.element, goElement(name, type.element));
    case "map":
      if (!isObject(value)) return `cannot restore map from ${goKind(value)}`;
      return firstProblem(Object.values(value), type.value, goElement(name, type.value));
    case "scalar":
      return scalarProblem(value, type.name, name);
  }
}

function firstProblem(values: readonly unknown[], type: FieldType, name: string): string | undefined {
  for (const value of values) {
    const problem = problemOf(value, type, name);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function scalarProblem(
  value: unknown,
  scalar: Extract<FieldType, { form: "scalar" }>["name"],
  name: string,
): string | undefined {
  const kind = goKind(value);
  switch (scalar) {
    case "string":
      if (kind === "string") return undefined;
      // Go converts an integer to a character, so it counts as convertible.
      return kind === "int64" ? `cannot convert int64 to ${name}` : "unrecognized type: string";
    case "bool":
      return kind === "bool" ? undefined : "unrecognized type: bool";
    case "int32":
    case "int64":
      if (kind === "int64") return undefined;
      return kind === "float64" ? `cannot convert float64 to ${name}` : `unrecognized type: ${scalar}`;
    case "double":
      return isNumeric(value) ? undefined : "unrecognized type: float64";
    case "bytes":
      return kind === "string" || kind === "slice" ? undefined : `cannot restore slice from ${kind}`;
    case "Time":
    case "MicroTime":
    case "Duration":
      if (kind === "string") return undefined;
      return `json: cannot unmarshal ${goJsonType(value)} into Go value of type string`;
    case "IntOrString":
      if (kind === "string" || kind === "int64") return undefined;
      return `json: cannot unmarshal ${goJsonType(value)}${kind === "float64" ? ` ${value}` : ""} into Go value of type int32`;
    default:
      return undefined;
  }
}

/** Returns Go's kind of a value that was decoded from JSON. */
function goKind(value: unknown): string {
  if (Array.isArray(value)) return "slice";
  if (typeof value === "string") return "string";
  if (typeof value === "boolean") return "bool";
  if (!isNumeric(value)) return "map";
  return typeof value === "bigint" || Number.isInteger(value) ? "int64" : "float64";
}
