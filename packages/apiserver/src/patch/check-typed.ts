import { ForeignValue } from "@dray/cel";
import { goSyntax, goText, goType } from "../json/go-text.ts";
import { isNumeric, isObject } from "../json/values.ts";
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
  check({ problems, allowDuplicates, path: [] }, schema, object);
  if (problems.length <= 1) return problems[0];
  return ["errors:", ...problems.map((problem) => `  ${problem}`)].join("\n");
}

interface Findings {
  readonly problems: string[];
  readonly allowDuplicates: boolean;
  /** Path of the checked value: `.name` for a field, a path element for an item of a list. */
  readonly path: string[];
}

function check(found: Findings, schema: TypeSchema, value: unknown): void {
  const valueType = value instanceof ForeignValue ? expectedType(schema) : valueTypeFor(schema, value);
  if (value === null) return;
  if (valueType === "map") checkMap(found, schema.map as MapSchema, value);
  else if (valueType === "list") checkList(found, schema.list as ListSchema, value);
  else {
    const problem = scalarProblem(schema.scalar ?? "any", value);
    if (problem !== undefined) report(found, problem);
  }
}

/** Returns the type that a schema expects for a value of a wrong type. */
function expectedType({ map, scalar }: TypeSchema): ValueType {
  if (map !== undefined) return "map";
  return scalar === undefined ? "list" : "scalar";
}

/** Adds a problem with the text of its path, which is written for a problem only. */
function report({ problems, path }: Findings, problem: string): void {
  const text = path.map((step) => (step.startsWith(".") ? step : elementText(step))).join("");
  problems.push(text === "" ? problem : `${text}: ${problem}`);
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

function checkMap(found: Findings, schema: MapSchema, value: unknown): void {
  if (!isObject(value) || value instanceof ForeignValue) {
    report(found, `expected map, got &{${goText(value)}}`);
    return;
  }
  for (const key of Object.keys(value)) {
    const type = schema.fields?.get(key)?.type ?? schema.element;
    found.path.push(`.${key}`);
    if (type === undefined) report(found, "field not declared in schema");
    else check(found, type, value[key]);
    found.path.pop();
    if (type === undefined) return;
  }
}

function checkList(found: Findings, schema: ListSchema, value: unknown): void {
  if (!Array.isArray(value)) {
    report(found, `expected list, got &{${goText(value)}}`);
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
        report(found, `element ${i}: ${error.message}`);
        return;
      }
      if (seen.has(element) && !found.allowDuplicates)
        report(found, `duplicate entries for key ${elementText(element)}`);
      seen.add(element);
    }
    found.path.push(element);
    check(found, schema.element, item);
    found.path.pop();
  }
}
