import type { Overload } from "../library/declarations.ts";
import type { CelType } from "../values/types.ts";
import type { Value } from "../values/value.ts";

/** Where an expression stands (offset in code points) and what the checker found out about it. */
interface Node {
  readonly at: number;
  type?: CelType;
}

export interface Literal extends Node {
  readonly kind: "literal";
  readonly value: Value;
}

export interface Identifier extends Node {
  readonly kind: "identifier";
  /** With a leading dot where the source has one: then no variable of a macro is meant. */
  readonly name: string;
  /** The variable or type of the environment that is meant, from the checker; undefined: one of a macro. */
  global?: string;
}

export interface Select extends Node {
  readonly kind: "select";
  readonly operand: Expr;
  readonly field: string;
  /** `has(operand.field)` */
  readonly testOnly: boolean;
  /** Set by the checker where the whole is the name of a variable or type of the environment: `net.IP`. */
  global?: string;
}

export interface Call extends Node {
  readonly kind: "call";
  /** Set to the qualified name where the checker finds that the target is a namespace: `optional.of`. */
  name: string;
  target: Expr | undefined;
  readonly args: readonly Expr[];
  /** The overloads that fit, from the checker. */
  overloads?: readonly Overload[];
}

export interface ListLiteral extends Node {
  readonly kind: "list";
  readonly elements: readonly Expr[];
  /** Positions of `?element`. */
  readonly optional: ReadonlySet<number>;
}

export interface MapEntry {
  readonly at: number;
  readonly key: Expr;
  readonly value: Expr;
  readonly optional: boolean;
}

export interface MapLiteral extends Node {
  readonly kind: "map";
  readonly entries: readonly MapEntry[];
}

/** `Name{field: value}` */
export interface StructLiteral extends Node {
  readonly kind: "struct";
  readonly name: string;
  readonly fields: readonly {
    readonly at: number;
    readonly name: string;
    readonly value: Expr;
    readonly optional: boolean;
  }[];
}

/** What the macros become: a loop over a list or the keys of a map with one accumulator. */
export interface Comprehension extends Node {
  readonly kind: "comprehension";
  readonly range: Expr;
  readonly variable: string;
  /** With it `variable` is the index or key, and this the element or value. */
  readonly variable2: string | undefined;
  readonly accumulator: string;
  readonly init: Expr;
  readonly condition: Expr;
  readonly step: Expr;
  readonly result: Expr;
}

export type Expr =
  | Literal
  | Identifier
  | Select
  | Call
  | ListLiteral
  | MapLiteral
  | StructLiteral
  | Comprehension;

/** The accumulator of macros; no source can name it. */
export const accumulatorName = "@result";

/** `a.b.c` of nothing but identifiers, else undefined. */
export function qualifiedName(expr: Expr): string | undefined {
  if (expr.kind === "identifier") return expr.name;
  if (expr.kind !== "select" || expr.testOnly) return undefined;
  const prefix = qualifiedName(expr.operand);
  return prefix === undefined ? undefined : `${prefix}.${expr.field}`;
}

/** What an expression is made of, in the order of the source; of a loop range, start, condition, step, result. */
export function parts(expr: Expr): readonly Expr[] {
  switch (expr.kind) {
    case "select":
      return [expr.operand];
    case "call":
      return expr.target === undefined ? expr.args : [expr.target, ...expr.args];
    case "list":
      return expr.elements;
    case "map":
      return expr.entries.flatMap(({ key, value }) => [key, value]);
    case "struct":
      return expr.fields.map(({ value }) => value);
    case "comprehension":
      return [expr.range, expr.init, expr.condition, expr.step, expr.result];
    default:
      return [];
  }
}

/** An expression and all that it is made of, outer before inner. */
export function* walk(expr: Expr): Iterable<Expr> {
  const left = [expr];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    yield next;
    for (const each of parts(next).toReversed()) left.push(each);
  }
}
