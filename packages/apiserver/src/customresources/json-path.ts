import { isPlain } from "./schema/schema.ts";

type Step =
  | { readonly sort: "field"; readonly name: string }
  | { readonly sort: "index"; readonly index: number }
  | { readonly sort: "slice"; readonly from: number; readonly to: number | undefined }
  | { readonly sort: "all" }
  | {
      readonly sort: "filter";
      readonly path: readonly Step[];
      readonly operator: string;
      readonly value: unknown;
    };

/**
 * A JSON path of client-go, as printer columns use it: names, indexes, `[*]`, and `[?(@.type=="Ready")].status`.
 * Undefined for a text that is none.
 */
export function parseJsonPath(text: string): readonly Step[] | undefined {
  const steps: Step[] = [];
  let rest = text;
  while (rest !== "") {
    const found = next(rest);
    if (found === undefined) return undefined;
    if (found.step !== undefined) steps.push(found.step);
    rest = rest.slice(found.length);
  }
  return steps;
}

function next(rest: string): { readonly step?: Step; readonly length: number } | undefined {
  const name = /^\.((?:\\.|[^.[\]\\])+)/.exec(rest);
  if (name !== null) {
    const plain = name[1]!.replace(/\\(.)/g, "$1");
    return { step: plain === "*" ? { sort: "all" } : { sort: "field", name: plain }, length: name[0].length };
  }
  const quoted = /^\[(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")\]/.exec(rest);
  if (quoted !== null) {
    const plain = (quoted[1] ?? quoted[2] ?? "").replace(/\\(.)/g, "$1");
    return { step: { sort: "field", name: plain }, length: quoted[0].length };
  }
  const all = /^\[\*\]/.exec(rest);
  if (all !== null) return { step: { sort: "all" }, length: all[0].length };
  const index = /^\[(-?\d+)\]/.exec(rest);
  if (index !== null) return { step: { sort: "index", index: Number(index[1]) }, length: index[0].length };
  const slice = /^\[(-?\d*):(-?\d*)\]/.exec(rest);
  if (slice !== null) {
    const to = slice[2] === "" ? undefined : Number(slice[2]);
    return { step: { sort: "slice", from: Number(slice[1] || 0), to }, length: slice[0].length };
  }
  const filter =
    /^\[\?\(\s*@((?:\.[^\s=!<>)]+)*)\s*(?:(==|!=|<=|>=|<|>)\s*("[^"]*"|'[^']*'|[^)\s]+))?\s*\)\]/.exec(rest);
  if (filter !== null) {
    const path = parseJsonPath(filter[1]!);
    if (path === undefined) return undefined;
    const value = filter[3] === undefined ? undefined : literal(filter[3]);
    return { step: { sort: "filter", path, operator: filter[2] ?? "", value }, length: filter[0].length };
  }
  return rest === "." ? { length: 1 } : undefined;
}

function literal(text: string): unknown {
  if (/^["']/.test(text)) return text.slice(1, -1);
  if (text === "true" || text === "false") return text === "true";
  return Number.isNaN(Number(text)) ? text : Number(text);
}

/** What is found at a path, in order; undefined where the path meets a value that it does not fit. */
export function findAll(path: readonly Step[], value: unknown): readonly unknown[] | undefined {
  let found: unknown[] = [value];
  for (const step of path) {
    const after: unknown[] = [];
    for (const one of found) {
      const below = follow(step, one);
      if (below === undefined) return undefined;
      after.push(...below);
    }
    found = after;
  }
  return found;
}

function follow(step: Step, value: unknown): readonly unknown[] | undefined {
  switch (step.sort) {
    case "field":
      if (value === null || value === undefined) return [];
      if (!isPlain(value)) return undefined;
      return Object.hasOwn(value, step.name) ? [value[step.name]] : [];
    case "all":
      if (Array.isArray(value)) return value;
      return isPlain(value) ? Object.values(value) : [];
    case "index": {
      if (!Array.isArray(value)) return undefined;
      const index = step.index < 0 ? step.index + value.length : step.index;
      return index >= 0 && index < value.length ? [value[index]] : undefined;
    }
    case "slice":
      return Array.isArray(value) ? value.slice(step.from, step.to) : undefined;
    case "filter":
      if (!Array.isArray(value)) return undefined;
      return value.filter((item) => holds(step, item));
  }
}

function holds({ path, operator, value }: Step & { sort: "filter" }, item: unknown): boolean {
  const found = findAll(path, item)?.[0];
  if (operator === "") return found !== undefined;
  if (found === undefined) return false;
  const [left, right] = [found as string | number, value as string | number];
  switch (operator) {
    case "==":
      return left === right;
    case "!=":
      return left !== right;
    case "<":
      return left < right;
    case "<=":
      return left <= right;
    case ">":
      return left > right;
    default:
      return left >= right;
  }
}
