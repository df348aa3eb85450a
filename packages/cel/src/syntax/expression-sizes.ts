import type { Expr } from "./ast.ts";

/** How far the expressions of a tree reach. */
interface Extent {
  /** Nested operators, fields, indexes and methods. */
  readonly depth: number;
  /** Expressions in all. */
  readonly size: number;
}

const single: Extent = { depth: 0, size: 1 };

/** Keeps count of the expressions that the parser makes. */
export class Extents {
  /** Expressions that stand in the tree twice because of a macro. */
  copied = 0;
  readonly #extents = new WeakMap<Expr, Extent>();

  depth(expr: Expr): number {
    return (this.#extents.get(expr) ?? single).depth;
  }

  /** Notes a new expression: whether it is a level of its own, and what its macro has taken twice. */
  made<E extends Expr>(expr: E, parts: readonly Expr[], level: 0 | 1 = 0, copied?: Expr): E {
    const copies = copied === undefined ? 0 : (this.#extents.get(copied) ?? single).size;
    let depth = 0;
    let size = 1 + copies;
    for (const part of parts) {
      const extent = this.#extents.get(part) ?? single;
      depth = Math.max(depth, extent.depth);
      size += extent.size;
    }
    this.#extents.set(expr, { depth: depth + level, size });
    this.copied += copies;
    return expr;
  }
}
