import { isPlain } from "../structural-schemas/schema.ts";
import type { Path, Step } from "./json-path.ts";

type Found = readonly unknown[];

/** Returns the values at a path, in order; undefined if the path does not match a value. */
export function findAll(path: Path, value: unknown): Found | undefined {
  let found: Found | undefined = [value];
  for (const step of path) {
    found = follow(step, found);
    if (found === undefined) return undefined;
  }
  return found;
}

function follow(step: Step, values: Found): Found | undefined {
  switch (step.type) {
    case "field":
      return values.flatMap((value) =>
        isPlain(value) && Object.hasOwn(value, step.name) ? [value[step.name]] : [],
      );
    case "wildcard":
      return values.flatMap(childrenOf);
    case "descent":
      return values.flatMap(withDescendants);
    case "slice":
      return each(values, (value) => (isAbsent(value) ? [] : sliced(step, value)));
    case "union":
      return each(step.paths, (path) => {
        let found: Found | undefined = values;
        for (const one of path) found = found && follow(one, found);
        return found;
      });
    case "filter":
      return each(values, (value) => (Array.isArray(value) ? filtered(step, value) : undefined));
    case "literal":
      return values.map(() => step.value);
  }
}

/** Concatenates the results for all items; undefined if one is undefined. */
function each<T>(items: readonly T[], find: (item: T) => Found | undefined): Found | undefined {
  const all: unknown[] = [];
  for (const item of items) {
    const found = find(item);
    if (found === undefined) return undefined;
    for (const value of found) all.push(value);
  }
  return all;
}

const isAbsent = (value: unknown): boolean => value === null || value === undefined;

function childrenOf(value: unknown): Found {
  if (Array.isArray(value)) return value;
  return isPlain(value) ? Object.values(value) : [];
}

/** Returns the value and all its descendants that have children. */
function withDescendants(value: unknown): Found {
  const children = childrenOf(value);
  return children.length === 0 ? [] : [value, ...children.flatMap(withDescendants)];
}

function sliced({ from, to, step = 1 }: Step & { type: "slice" }, value: unknown): Found | undefined {
  if (!Array.isArray(value)) return undefined;
  const { length } = value;
  const start = from < 0 ? from + length : from;
  let end = to?.value ?? length;
  if (end < 0 || (end === 0 && to?.derived)) end += length;
  if (start === end) return [];
  if (start < 0 || start >= length || end < 0 || end > length || start > end || step <= 0) return undefined;
  return value.slice(start, end).filter((_, index) => index % step === 0);
}

function filtered(
  { left, comparison }: Step & { type: "filter" },
  list: readonly unknown[],
): Found | undefined {
  return each(list, (item) => {
    const found = findAll(left, item);
    if (comparison === undefined) return found !== undefined && found.length > 0 ? [item] : [];
    const operand = findAll(comparison.right, item);
    if (found === undefined || found.length > 1) return undefined;
    if (found.length === 0) return [];
    if (operand === undefined || operand.length > 1) return undefined;
    if (operand.length === 0) return [];
    const last = comparison.right.at(-1);
    const real = last?.type === "literal" && last.real === true;
    const holds = compare(comparison.operator, found[0], operand[0], real);
    return holds === undefined ? undefined : holds ? [item] : [];
  });
}

/**
 * Compares as Go's templates: values of one kind, where integers and floats are two kinds. Undefined for
 * values that cannot be compared.
 */
function compare(operator: string, left: unknown, right: unknown, real: boolean): boolean | undefined {
  const kind = kindOf(left);
  if (kind === undefined || kind !== (real ? "real" : kindOf(right))) return undefined;
  const [a, b] = [left as number, right as number];
  switch (operator) {
    case "==":
      return a === b;
    case "!=":
      return a !== b;
    default:
      break;
  }
  if (kind === "boolean") return undefined;
  switch (operator) {
    case "<":
      return a < b;
    case "<=":
      return a <= b;
    case ">":
      return a > b;
    case ">=":
      return a >= b;
    default:
      return undefined;
  }
}

function kindOf(value: unknown): "text" | "boolean" | "whole" | "real" | undefined {
  if (typeof value === "string") return "text";
  if (typeof value === "boolean") return "boolean";
  if (typeof value === "bigint") return "whole";
  if (typeof value === "number") return Number.isInteger(value) ? "whole" : "real";
  return undefined;
}
