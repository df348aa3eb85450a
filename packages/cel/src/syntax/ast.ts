import type { Value } from "../values/value.ts";

interface Position {
  /** Position of errors about the node, in code points from the start of the source. */
  readonly offset: number;
}

export interface Literal extends Position {
  readonly kind: "literal";
  readonly value: Value;
}

export interface Identifier extends Position {
  readonly kind: "identifier";
  /** With the leading dot of the source, if any: then it names no variable of a macro. */
  readonly name: string;
}

export interface Select extends Position {
  readonly kind: "select";
  readonly operand: Expr;
  readonly field: string;
  /** `has(operand.field)` */
  readonly testOnly: boolean;
}

export interface Call extends Position {
  readonly kind: "call";
  readonly name: string;
  /** The receiver, or a namespace: `optional` in `optional.of(x)`. The checker decides which. */
  readonly target: Expr | undefined;
  readonly args: readonly Expr[];
}

export interface ListLiteral extends Position {
  readonly kind: "list";
  readonly elements: readonly Expr[];
  /** Indexes of `?element`. */
  readonly optional: ReadonlySet<number>;
}

export interface MapEntry extends Position {
  readonly key: Expr;
  readonly value: Expr;
  readonly optional: boolean;
}

export interface MapLiteral extends Position {
  readonly kind: "map";
  readonly entries: readonly MapEntry[];
}

export interface StructField extends Position {
  readonly name: string;
  readonly value: Expr;
  readonly optional: boolean;
}

/** `Name{field: value}` */
export interface StructLiteral extends Position {
  readonly kind: "struct";
  readonly name: string;
  readonly fields: readonly StructField[];
}

/** The expansion of most macros: a loop with one accumulator over a list or the keys of a map. */
export interface Comprehension extends Position {
  readonly kind: "comprehension";
  readonly range: Expr;
  readonly variable: string;
  /** If set, `variable` is the index or key, and this is the element or value. */
  readonly variable2: string | undefined;
  readonly accumulator: string;
  readonly init: Expr;
  readonly condition: Expr;
  readonly step: Expr;
  readonly result: Expr;
}

/** A node of the syntax tree. Macros can make a node part of the tree twice. */
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

/** `a.b.c` if the expression consists of identifiers, else undefined. */
export function qualifiedName(expr: Expr): string | undefined {
  if (expr.kind === "identifier") return expr.name;
  if (expr.kind !== "select" || expr.testOnly) return undefined;
  const prefix = qualifiedName(expr.operand);
  return prefix === undefined ? undefined : `${prefix}.${expr.field}`;
}

/**
 * The children of a node except a call, in the order of the source; of a loop: range, init, condition, step,
 * result.
 */
export function parts(expr: Exclude<Expr, Call>): readonly Expr[] {
  switch (expr.kind) {
    case "select":
      return [expr.operand];
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
