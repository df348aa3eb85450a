import type { CelType } from "../values/types.ts";
import type { Value } from "../values/value.ts";
import type { Chain, Node, Qualifier } from "./ir.ts";

export const constant = (value: Value): Node & { kind: "constant" } => ({ kind: "constant", value });

export function chain(base: Node, type: CelType | undefined): Chain {
  return { kind: "chain", base, qualifiers: [], own: 1, maybeOptional: maybeOptional(type) };
}

/** A chain that accepts further qualifiers. */
export function chainOf(node: Node, type: CelType | undefined): Chain {
  return node.kind === "chain" ? node : chain(node, type);
}

export function qualified(operand: Chain, qualifier: Qualifier): Chain {
  return { ...operand, qualifiers: [...operand.qualifiers, qualifier] };
}

/**
 * A node as a branch or an index: there cel-go charges for the qualifiers of a chain, not for the chain
 * itself. The result of `has(a.?b.c)` stays an optional value there.
 */
export function raw(node: Node): Node {
  if (node.kind === "chain") return { ...node, own: 0 };
  if (node.kind !== "presence") return node;
  if (!node.optional) return { ...node, own: 0 };
  return { ...qualified(node.chain, { key: constant(node.field), optional: false }), own: 0 };
}

function maybeOptional(type: CelType | undefined): boolean {
  switch (type?.kind) {
    case undefined:
    case "any":
    case "dyn":
    case "error":
    case "opaque":
    case "param":
      return true;
    default:
      return false;
  }
}

/** The step of a loop. If it extends its accumulator, a list or map, it does so in place. */
export function collecting(step: Node, slot: number): Node {
  if (step.kind === "chain" && step.qualifiers.length === 0 && step.base.kind === "conditional") {
    const { condition, yes, no } = step.base;
    return { ...step, base: { kind: "conditional", condition, yes: collecting(yes, slot), no } };
  }
  if (step.kind !== "invoke") return step;
  const [target, ...others] = step.args;
  if (target?.kind !== "chain" || target.base.kind !== "local" || target.base.slot !== slot) return step;
  if (target.qualifiers.length > 0) return step;
  if (step.call.name === "cel.@mapInsert") return { kind: "insert", slot, args: others };
  const added = others[0];
  if (step.call.name !== "_+_" || added === undefined) return step;
  if (added.kind === "list" && added.elements.length === 1 && added.optional.size === 0) {
    return { kind: "append", slot, element: added.elements[0]!, makes: 10 };
  }
  if (added.kind === "constant" && Array.isArray(added.value) && added.value.length === 1) {
    return { kind: "append", slot, element: constant((added.value as readonly Value[])[0]!), makes: 0 };
  }
  return step;
}
