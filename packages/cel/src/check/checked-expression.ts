import type { Overload } from "../library/declarations.ts";
import { type Call, type Expr, parts } from "../syntax/ast.ts";
import { type CelType, errorType } from "../values/types.ts";

/** The function and the matching overloads of a call. */
export interface CallReference {
  /** The full name of the function: `optional.of`. */
  readonly name: string;
  /** The receiver; undefined if the target of the call is a namespace. */
  readonly target: Expr | undefined;
  /** The overloads that match the types of the arguments. */
  readonly overloads: readonly Overload[];
}

/** The checker's findings about the nodes of a syntax tree. */
export interface Findings {
  readonly types: ReadonlyMap<Expr, CelType>;
  /**
   * The full names of variables and types of the environment, by the identifiers and selections that name
   * them.
   */
  readonly globals: ReadonlyMap<Expr, string>;
  readonly calls: ReadonlyMap<Call, CallReference>;
}

/** A syntax tree with the findings of the checker (cel-go's ast.AST with its type and reference maps). */
export class CheckedExpression {
  readonly root: Expr;
  readonly #findings: Findings;

  constructor(root: Expr, findings: Findings) {
    this.root = root;
    this.#findings = findings;
  }

  /** The type of the whole expression. */
  get type(): CelType {
    return this.typeOf(this.root) ?? errorType;
  }

  /** The type of a node; undefined for a node that the checker did not reach. */
  typeOf(expr: Expr): CelType | undefined {
    return this.#findings.types.get(expr);
  }

  /**
   * The variable or type of the environment that a node names. Undefined for a variable of a macro, and for a
   * field.
   */
  globalOf(expr: Expr): string | undefined {
    return this.#findings.globals.get(expr);
  }

  referenceOf(call: Call): CallReference {
    return this.#findings.calls.get(call) ?? { name: call.name, target: call.target, overloads: [] };
  }

  /** The arguments of a call, the receiver first. */
  operandsOf(call: Call): readonly Expr[] {
    const { target } = this.referenceOf(call);
    return target === undefined ? call.args : [target, ...call.args];
  }

  /** The children of a node, in the order of the source; a namespace is not a child. */
  partsOf(expr: Expr): readonly Expr[] {
    return expr.kind === "call" ? this.operandsOf(expr) : parts(expr);
  }

  /** All nodes, parents before children. */
  *nodes(): Iterable<Expr> {
    const stack = [this.root];
    for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
      yield next;
      for (const part of this.partsOf(next).toReversed()) stack.push(part);
    }
  }
}
