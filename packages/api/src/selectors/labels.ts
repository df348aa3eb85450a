import type { LabelSelector, LabelSelectorRequirement } from "../generated/meta/v1.ts";
import { quoted } from "../text/quoted.ts";
import { isLabelValue, qualifiedName } from "../values/names.ts";

/** One condition on a label, as the query parameter `labelSelector` writes it. */
export type LabelOperator = "=" | "==" | "!=" | "in" | "notin" | "exists" | "!" | "gt" | "lt";

export interface LabelRequirement {
  readonly key: string;
  readonly operator: LabelOperator;
  readonly values: readonly string[];
}

export type Labels = Readonly<Record<string, string>>;

/** Not a selector. The message is the API server's (400 BadRequest). */
export class SelectorError extends Error {
  override readonly name = "SelectorError";
}

/** A conjunction of requirements on labels. */
export interface LabelSelection {
  readonly requirements: readonly LabelRequirement[];
  /** True for the selector that selects everything. */
  readonly empty: boolean;
  matches(labels: Labels | undefined): boolean;
  /** The canonical text, requirements sorted by key. */
  toString(): string;
}

/** The int64 that a label's value spells, if it does. */
function integerOf(text: string): bigint | undefined {
  if (!/^[-+]?[0-9]+$/.test(text)) return undefined;
  const value = BigInt(text.replace(/^[+]/, ""));
  return value >= -(2n ** 63n) && value < 2n ** 63n ? value : undefined;
}

/** Whether labels meet a requirement. */
export function holds(requirement: LabelRequirement, labels: Labels): boolean {
  const value = Object.hasOwn(labels, requirement.key) ? labels[requirement.key] : undefined;
  switch (requirement.operator) {
    case "=":
    case "==":
    case "in":
      return value !== undefined && requirement.values.includes(value);
    case "!=":
    case "notin":
      return value === undefined || !requirement.values.includes(value);
    case "exists":
      return value !== undefined;
    case "!":
      return value === undefined;
    case "gt":
    case "lt": {
      const actual = value === undefined ? undefined : integerOf(value);
      const limit = integerOf(requirement.values[0] ?? "");
      if (actual === undefined || limit === undefined) return false;
      return requirement.operator === "gt" ? actual > limit : actual < limit;
    }
  }
}

function requirementText({ key, operator, values }: LabelRequirement): string {
  const list = [...values].sort().join(",");
  switch (operator) {
    case "exists":
      return key;
    case "!":
      return `!${key}`;
    case "in":
    case "notin":
      return `${key} ${operator} (${list})`;
    case "gt":
      return `${key}>${list}`;
    case "lt":
      return `${key}<${list}`;
    default:
      return `${key}${operator}${list}`;
  }
}

/** Makes a selector of requirements that are known to be legal. */
export function selectionOf(requirements: readonly LabelRequirement[]): LabelSelection {
  const sorted = [...requirements].sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
  return {
    requirements: sorted,
    empty: sorted.length === 0,
    matches: (labels = {}) => sorted.every((requirement) => holds(requirement, labels)),
    toString: () => sorted.map(requirementText).join(","),
  };
}

const everything = selectionOf([]);
const nothing: LabelSelection = {
  requirements: [],
  empty: false,
  matches: () => false,
  toString: () => "<null>",
};

function checkKey(key: string, path = "<nil>"): void {
  const problems = qualifiedName(key);
  if (problems.length > 0) {
    throw new SelectorError(`${path}: Invalid value: ${quoted(key)}: ${problems.join("; ")}`);
  }
}

/** Why the number of values is invalid. */
const countProblems: Partial<Record<LabelOperator, (count: number) => string | undefined>> = {
  in: (count) => (count === 0 ? "for 'in', 'notin' operators, values set can't be empty" : undefined),
  notin: (count) => (count === 0 ? "for 'in', 'notin' operators, values set can't be empty" : undefined),
  exists: (count) => (count === 0 ? undefined : "values set must be empty for exists and does not exist"),
  "!": (count) => (count === 0 ? undefined : "values set must be empty for exists and does not exist"),
  gt: (count) => (count === 1 ? undefined : "for 'Gt', 'Lt' operators, exactly one value is required"),
  lt: (count) => (count === 1 ? undefined : "for 'Gt', 'Lt' operators, exactly one value is required"),
};

/**
 * Why a requirement is invalid; `path` precedes the names of its fields.
 * Upstream: k8s.io/apimachinery/pkg/labels/selector.go, NewRequirement.
 */
export function requirementProblems({ key, operator, values }: LabelRequirement, path = ""): string[] {
  const problems: string[] = [];
  const report = (field: string, value: string, detail: string): void => {
    problems.push(`${path}${field}: Invalid value: ${value}: ${detail}`);
  };
  const ofKey = qualifiedName(key);
  if (ofKey.length > 0) report("key", quoted(key), ofKey.join("; "));
  const ofCount = countProblems[operator]?.(values.length);
  if (ofCount !== undefined) report("values", JSON.stringify(values), ofCount);
  if (operator === "gt" || operator === "lt") {
    values.forEach((value, index) => {
      if (integerOf(value) === undefined) {
        report(`values[${index}]`, quoted(value), "for 'Gt', 'Lt' operators, the value must be an integer");
      }
    });
  }
  values.forEach((value, index) => {
    const ofValue = isLabelValue(value);
    if (ofValue.length > 0) report(`values[${index}][${key}]`, quoted(value), ofValue.join("; "));
  });
  return problems;
}

/** Several problems as one text. Upstream: k8s.io/apimachinery/pkg/util/errors, Aggregate: each text once. */
export function aggregateText(problems: readonly string[]): string {
  const all = [...new Set(problems)];
  return all.length === 1 ? all[0]! : `[${all.join(", ")}]`;
}

/** Throws SelectorError for a requirement whose key, values or number of values are not legal. */
function checked(requirement: LabelRequirement): LabelRequirement {
  const problems = requirementProblems(requirement);
  if (problems.length > 0) throw new SelectorError(aggregateText(problems));
  return requirement;
}

/** `null`: the end. Words end at white space and special characters. */
type Token = { readonly kind: "word" | "symbol" | "wrong" | "end"; readonly text: string };

const symbols = new Set([")", ",", "!", "==", "=", ">", "<", "!=", "("]);

function tokens(text: string): Token[] {
  const result: Token[] = [];
  let at = 0;
  while (at < text.length) {
    const character = text.charAt(at);
    if (" \t\r\n".includes(character)) {
      at++;
    } else if ("=!(),><".includes(character)) {
      const two = text.slice(at, at + 2);
      const symbol = symbols.has(two) ? two : character;
      result.push({ kind: symbols.has(symbol) ? "symbol" : "wrong", text: symbol });
      at += symbol.length;
    } else {
      const word = /^[^ \t\r\n=!(),><]+/.exec(text.slice(at))?.[0] ?? character;
      result.push({ kind: "word", text: word });
      at += word.length;
    }
  }
  result.push({ kind: "end", text: "" });
  return result;
}

const comparisons: ReadonlyMap<string, LabelOperator> = new Map([
  ["in", "in"],
  ["notin", "notin"],
  ["=", "="],
  ["==", "=="],
  ["!=", "!="],
  [">", "gt"],
  ["<", "lt"],
]);
const wantedOperators = "in, notin, =, ==, !=, gt, lt";
const end: Token = { kind: "end", text: "" };

/** Reads the query parameter `labelSelector`: `a=b,c!=d,e in (f,g),h,!i,j>1`. */
class LabelParser {
  readonly #tokens: readonly Token[];
  #at = 0;

  constructor(text: string) {
    this.#tokens = tokens(text);
  }

  parse(): LabelRequirement[] {
    const result: LabelRequirement[] = [];
    while (true) {
      const token = this.#peek();
      if (token.kind === "end") return result;
      if (!startsRequirement(token)) {
        throw new SelectorError(`found '${token.text}', expected: !, identifier, or 'end of string'`);
      }
      result.push(this.#requirement());
      const separator = this.#next();
      if (separator.kind === "end") return result;
      if (separator.text !== ",") {
        throw new SelectorError(`found '${separator.text}', expected: ',' or 'end of string'`);
      }
      const after = this.#peek();
      if (!startsRequirement(after)) {
        throw new SelectorError(`found '${after.text}', expected: identifier after ','`);
      }
    }
  }

  #requirement(): LabelRequirement {
    try {
      return this.#keyed();
    } catch (error) {
      if (!(error instanceof SelectorError)) throw error;
      throw new SelectorError(`unable to parse requirement: ${error.message}`);
    }
  }

  #keyed(): LabelRequirement {
    let token = this.#next();
    const absent = token.text === "!";
    if (absent) token = this.#next();
    if (token.kind !== "word") throw new SelectorError(`found '${token.text}', expected: identifier`);
    const key = token.text;
    checkKey(key);
    const after = this.#peek();
    if (absent) return { key, operator: "!", values: [] };
    if (after.kind === "end" || after.text === ",") return { key, operator: "exists", values: [] };
    const word = this.#next().text;
    const operator = comparisons.get(word);
    if (operator === undefined) throw new SelectorError(`found '${word}', expected: ${wantedOperators}`);
    const values = operator === "in" || operator === "notin" ? this.#list() : this.#single();
    return checked({ key, operator, values: [...new Set(values)].sort() });
  }

  #list(): string[] {
    const open = this.#next();
    if (open.text !== "(") throw new SelectorError(`found '${open.text}' expected: '('`);
    const first = this.#peek();
    if (first.kind !== "word" && first.text !== "," && first.text !== ")") {
      throw new SelectorError(`found '${first.text}', expected: ',', ')' or identifier`);
    }
    const values: string[] = [];
    // A value may be empty: `(a,)`, `(,a)` and `()` all hold the empty one.
    let value = "";
    let read = false;
    while (true) {
      const token = this.#next();
      if (token.text === ")") return [...values, value];
      if (token.text === ",") {
        values.push(value);
        value = "";
        read = false;
      } else if (token.kind === "word" && !read) {
        value = token.text;
        read = true;
      } else {
        const wanted = read ? "',' or ')'" : "',', or identifier";
        throw new SelectorError(`found '${token.text}', expected: ${wanted}`);
      }
    }
  }

  #single(): string[] {
    const token = this.#peek();
    if (token.kind === "end" || token.text === ",") return [""];
    this.#at++;
    if (token.kind !== "word") throw new SelectorError(`found '${token.text}', expected: identifier`);
    return [token.text];
  }

  #peek(): Token {
    return this.#tokens[this.#at] ?? end;
  }

  #next(): Token {
    const token = this.#peek();
    this.#at++;
    return token;
  }
}

const startsRequirement = (token: Token): boolean => token.kind === "word" || token.text === "!";

/** Reads the query parameter `labelSelector`; "" selects everything. Throws SelectorError. */
export function parseLabelSelector(text: string): LabelSelection {
  // Upstream's reader takes a NUL for the end of a word, as a blank is.
  const requirements = new LabelParser(text.replaceAll("\0", " ")).parse();
  return requirements.length === 0 ? everything : selectionOf(requirements);
}

/** True where the labels hold every pair of the selector (nodeSelector, a service's selector). */
export function matchLabels(selector: Labels | undefined, labels: Labels | undefined): boolean {
  return Object.entries(selector ?? {}).every(
    ([key, value]) => labels !== undefined && Object.hasOwn(labels, key) && labels[key] === value,
  );
}

/** Operators of the two object forms (LabelSelector, NodeSelectorTerm) in the form of a query. */
export const objectOperators: ReadonlyMap<string, LabelOperator> = new Map([
  ["In", "in"],
  ["NotIn", "notin"],
  ["Exists", "exists"],
  ["DoesNotExist", "!"],
  ["Gt", "gt"],
  ["Lt", "lt"],
]);
const plainOperators = ["In", "NotIn", "Exists", "DoesNotExist"];

/** A requirement of a LabelSelector or of a node selector term. Throws SelectorError. */
export function requirementOf(
  requirement: Pick<LabelSelectorRequirement, "key" | "operator" | "values">,
): LabelRequirement {
  const operator = objectOperators.get(requirement.operator);
  if (operator === undefined) {
    throw new SelectorError(`${quoted(requirement.operator)} is not a valid label selector operator`);
  }
  return checked({ key: requirement.key, operator, values: requirement.values ?? [] });
}

/**
 * The selector of a LabelSelector object (meta/v1): a missing one selects nothing, an empty one everything.
 * Throws SelectorError.
 */
export function labelSelectorOf(selector: LabelSelector | null | undefined): LabelSelection {
  if (selector === undefined || selector === null) return nothing;
  const requirements = [
    ...Object.entries(selector.matchLabels ?? {}).map(([key, value]) =>
      checked({ key, operator: "=", values: [value] }),
    ),
    ...(selector.matchExpressions ?? []).map((requirement) => {
      if (!plainOperators.includes(requirement.operator)) {
        throw new SelectorError(`${quoted(requirement.operator)} is not a valid label selector operator`);
      }
      return requirementOf(requirement);
    }),
  ];
  return requirements.length === 0 ? everything : selectionOf(requirements);
}

/**
 * Reports whether a selector matches, for loops over selectors of many objects: an invalid one, which only
 * its own object suffers from, matches nothing.
 * Upstream: k8s.io/client-go/listers/apps/v1, GetPodReplicaSets and its like.
 */
export function matchesIfValid(selector: () => LabelSelection, labels: Labels | undefined): boolean {
  try {
    return selector().matches(labels);
  } catch (error) {
    if (error instanceof SelectorError) return false;
    throw error;
  }
}
