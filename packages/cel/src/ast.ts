import type { Overload } from "./declarations.ts";
import type { CelType } from "./types.ts";
import type { Value } from "./values.ts";

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
  readonly name: string;
}

export interface Select extends Node {
  readonly kind: "select";
  readonly operand: Expr;
  readonly field: string;
  /** `has(operand.field)` */
  readonly testOnly: boolean;
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

/** `Name{field: value}`: no environment of ours declares such a type, so the checker refuses them. */
export interface StructLiteral extends Node {
  readonly kind: "struct";
  readonly name: string;
  readonly fields: readonly { readonly at: number; readonly name: string; readonly value: Expr }[];
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
