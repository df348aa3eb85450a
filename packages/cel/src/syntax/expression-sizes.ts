import type { Expr } from "./ast.ts";

interface Size {
  /** Number of nested operators, fields, indexes and methods. */
  readonly depth: number;
  /** Number of nodes. */
  readonly nodes: number;
}

const leaf: Size = { depth: 0, nodes: 1 };

/** Counts the nodes that the parser makes. */
export class ExpressionSizes {
  /** Number of nodes that macros made part of the tree twice. */
  copied = 0;
  readonly #sizes = new WeakMap<Expr, Size>();

  depth(expr: Expr): number {
    return (this.#sizes.get(expr) ?? leaf).depth;
  }

  /**
   * Records a new node. `level` is 1 if it adds to the depth; `copied` is the operand that its macro
   * duplicates.
   */
  record<E extends Expr>(expr: E, parts: readonly Expr[], level: 0 | 1 = 0, copied?: Expr): E {
    const copies = copied === undefined ? 0 : (this.#sizes.get(copied) ?? leaf).nodes;
    let depth = 0;
    let nodes = 1 + copies;
    for (const part of parts) {
      const size = this.#sizes.get(part) ?? leaf;
      depth = Math.max(depth, size.depth);
      nodes += size.nodes;
    }
    this.#sizes.set(expr, { depth: depth + level, nodes });
    this.copied += copies;
    return expr;
  }
}
