/** One end of a slice; `derived`: computed from an index, so that 0 is the end of the list. */
interface Bound {
  readonly value: number;
  readonly derived?: boolean;
}

export type Step =
  | { readonly type: "field"; readonly name: string }
  | { readonly type: "wildcard" }
  | { readonly type: "descent" }
  | { readonly type: "slice"; readonly from: number; readonly to?: Bound; readonly step?: number }
  | { readonly type: "union"; readonly paths: readonly Path[] }
  | {
      readonly type: "filter";
      readonly left: Path;
      readonly comparison?: { readonly operator: string; readonly right: Path };
    }
  /** The operand of a comparison in a filter. */
  | { readonly type: "literal"; readonly value: string | number | boolean; readonly real?: boolean };

/** A JSON path of client-go (client-go/util/jsonpath), as printer columns use it. */
export type Path = readonly Step[];

/**
 * Parses names, `[0]`, `[1:3]`, `[*]`, `['a','b']`, `..name`, and `[?(@.type=="Ready")].status`. A name in
 * brackets is split at unescaped dots. Returns undefined for an invalid path.
 */
export function parseJsonPath(text: string): Path | undefined {
  const steps: Step[] = [];
  let rest = text;
  while (rest !== "") {
    const found = next(rest);
    if (found === undefined) return undefined;
    if (found.steps.some(isDescent) && isDescent(steps.at(-1))) return undefined;
    for (const each of found.steps) steps.push(each);
    rest = rest.slice(found.length);
  }
  return steps;
}

interface Found {
  readonly steps: Path;
  readonly length: number;
}

const isDescent = (step: Step | undefined): boolean => step?.type === "descent";
/** A name ends at blanks and `. , [ ] $ @ { }`; a backslash escapes the next character. */
const nameEnd = String.raw`(?:\\.|[^\s.,[\]$@{}\\])`;
const field = new RegExp(`^\\.(${nameEnd}*)`, "s");
const descent = new RegExp(`^\\.\\.(${nameEnd}*)`, "s");

function next(rest: string): Found | undefined {
  const [first] = rest;
  if (first === " " || first === "@" || first === "$") return { steps: [], length: 1 };
  if (rest.startsWith("[?(")) return filterOf(rest);
  const below = descent.exec(rest);
  if (below !== null) {
    const [{ length }, name = ""] = below;
    return { steps: [{ type: "descent" }, ...(name === "" ? [] : [fieldStep(name)])], length };
  }
  const name = field.exec(rest);
  if (name !== null) return { steps: [fieldStep(name[1]!)], length: name[0].length };
  if (first === "[") return bracketsOf(rest);
  return literalOf(rest);
}

const fieldStep = (text: string): Step =>
  text === "*" ? { type: "wildcard" } : { type: "field", name: text.replaceAll("\\", "") };

function bracketsOf(rest: string): Found | undefined {
  const end = rest.indexOf("]");
  if (end < 0) return undefined;
  const text = rest.slice(1, end);
  const length = end + 1;
  const parts = text.split(",");
  if (parts.length > 1) {
    const paths = parts.map((part) => parseJsonPath(`[${part.trim()}]`));
    if (!paths.every((path) => path !== undefined)) return undefined;
    return { steps: [{ type: "union", paths }], length };
  }
  const key = /^'([^']*)'$/.exec(text);
  if (key !== null) {
    const steps = parseJsonPath(`.${key[1]}`);
    return steps === undefined ? undefined : { steps, length };
  }
  const slice = sliceOf(text === "*" ? ":" : text);
  return slice === undefined ? undefined : { steps: [slice], length };
}

function sliceOf(text: string): Step | undefined {
  const match = /^(-?\d*)(?::(-?\d*))?(?::(-?\d*))?$/.exec(text);
  if (match === null || match.slice(1).includes("-")) return undefined;
  const [, start = "", end, step = ""] = match;
  const from = Number(start);
  const to = end === undefined ? { value: from + 1, derived: true } : end === "" ? undefined : end;
  return {
    type: "slice",
    from,
    ...(to === undefined ? {} : { to: typeof to === "string" ? { value: Number(to) } : to }),
    ...(step === "" ? {} : { step: Number(step) }),
  };
}

function filterOf(rest: string): Found | undefined {
  const match = /^\[\?\(((?:[^"')]|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')*)\)\]/s.exec(rest);
  if (match === null) return undefined;
  const [{ length }, condition = ""] = match;
  const parts = /^([^!<>=]+)([!<>=]+)(.+)$/s.exec(condition);
  if (parts === null) {
    const left = parseJsonPath(condition);
    return left === undefined ? undefined : { steps: [{ type: "filter", left }], length };
  }
  const [, leftText = "", operator = "", rightText = ""] = parts;
  const [left, right] = [parseJsonPath(leftText), parseJsonPath(rightText)];
  if (left === undefined || right === undefined) return undefined;
  return { steps: [{ type: "filter", left, comparison: { operator, right } }], length };
}

function literalOf(rest: string): Found | undefined {
  const quoted = /^(?:"((?:\\.|[^"\\])*)"|'((?:\\.|[^'\\])*)')/s.exec(rest);
  if (quoted !== null) {
    const value = (quoted[1] ?? quoted[2] ?? "").replace(/\\(.)/g, "$1");
    return { steps: [{ type: "literal", value }], length: quoted[0].length };
  }
  const number = /^[+-]?\d+(\.\d*)?(?![\w.])/.exec(rest);
  if (number !== null) {
    const real = number[1] !== undefined;
    return { steps: [{ type: "literal", value: Number(number[0]), real }], length: number[0].length };
  }
  const truth = /^(true|false)(?!\w)/.exec(rest);
  if (truth === null) return undefined;
  return { steps: [{ type: "literal", value: truth[1] === "true" }], length: truth[0].length };
}
