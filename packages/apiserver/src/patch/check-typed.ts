import { ForeignValue } from "@dray/cel";
import { goSyntax, goText, goType } from "../json/go-text.ts";
import { isNumeric, isObject, type JsonObject } from "../json/values.ts";
import { elementText, listElement, UnkeyedElementError } from "./path-element.ts";
import type { ListSchema, MapSchema, ScalarType, TypeSchema } from "./type-schema.ts";
import { isScalar, type ValueType, valueTypeFor } from "./typed-walk.ts";

/**
 * Returns why an object does not match its schema, with the messages of upstream's structured merge;
 * undefined if it does. Checks for undeclared fields, values of another type, list elements without keys, and
 * duplicate ones unless `allowDuplicates`.
 */
export function typedProblem(
  schema: TypeSchema,
  object: unknown,
  { allowDuplicates = false } = {},
): string | undefined {
  const problems: string[] = [];
  check({ problems, allowDuplicates }, schema, object, "");
  if (problems.length <= 1) return problems[0];
  return ["errors:", ...problems.map((problem) => `  ${problem}`)].join("\n");
}

interface Findings {
  readonly problems: string[];
  readonly allowDuplicates: boolean;
}

function check(found: Findings, schema: TypeSchema, value: unknown, path: string): void {
  const valueType = value instanceof ForeignValue ? expectedType(schema) : valueTypeFor(schema, value);
  if (value === null) return;
  if (valueType === "map") checkMap(found, schema.map as MapSchema, value, path);
  else if (valueType === "list") checkList(found, schema.list as ListSchema, value, path);
  else {
    const problem = scalarProblem(schema.scalar ?? "any", value);
    if (problem !== undefined) found.problems.push(at(path, problem));
  }
}

/** Returns the type that a schema expects for a value of a wrong type. */
function expectedType({ map, scalar }: TypeSchema): ValueType {
  if (map !== undefined) return "map";
  return scalar === undefined ? "list" : "scalar";
}

function at(path: string, problem: string): string {
  return path === "" ? problem : `${path}: ${problem}`;
}

function scalarProblem(valueType: ScalarType, value: unknown): string | undefined {
  switch (valueType) {
    case "number":
      return isNumeric(value) ? undefined : `expected numeric (int or float), got ${goType(value)}`;
    case "string":
      if (typeof value === "string") return undefined;
      return `expected string, got &value.valueUnstructured{Value:${goSyntax(value)}}`;
    case "boolean":
      return typeof value === "boolean" ? undefined : `expected boolean, got &{${goText(value)}}`;
    case "any":
      return isScalar(value) ? undefined : `expected any scalar, got &{${goText(value)}}`;
  }
}

function checkMap(found: Findings, schema: MapSchema, value: unknown, path: string): void {
  const { problems } = found;
  if (!isObject(value) || value instanceof ForeignValue) {
    problems.push(at(path, `expected map, got &{${goText(value)}}`));
    return;
  }
  for (const key of Object.keys(value)) {
    const type = schema.fields?.get(key)?.type ?? schema.element;
    if (type === undefined) {
      problems.push(at(`${path}.${key}`, "field not declared in schema"));
      return;
    }
    check(found, type, (value as JsonObject)[key], `${path}.${key}`);
  }
}

function checkList(found: Findings, schema: ListSchema, value: unknown, path: string): void {
  const { problems, allowDuplicates } = found;
  if (!Array.isArray(value)) {
    problems.push(at(path, `expected list, got &{${goText(value)}}`));
    return;
  }
  const seen = new Set<string>();
  for (const [i, item] of value.entries()) {
    let element = `i:${i}`;
    if (schema.relation !== "atomic") {
      try {
        element = listElement(schema, item instanceof ForeignValue ? item.text : item);
      } catch (error) {
        if (!(error instanceof UnkeyedElementError)) throw error;
        problems.push(at(path, `element ${i}: ${error.message}`));
        return;
      }
      if (seen.has(element) && !allowDuplicates)
        problems.push(at(path, `duplicate entries for key ${elementText(element)}`));
      seen.add(element);
    }
    check(found, schema.element, item, `${path}${elementText(element)}`);
  }
}
