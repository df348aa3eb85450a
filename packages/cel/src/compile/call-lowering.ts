import { callCost } from "../cost/tracker.ts";
import type { CallContext } from "../library/call-context.ts";
import { bound, type FunctionDeclaration, type Overload } from "../library/declarations.ts";
import type { Value } from "../values/value.ts";
import { constant } from "./chains.ts";
import { ConstantSet } from "./constant-set.ts";
import { type Invocation, implementation } from "./invocation.ts";
import type { Node } from "./ir.ts";

/** No program can be made of a checked expression. */
export class ProgramError extends Error {
  override readonly name = "ProgramError";
}

/** `x in [constants]`, if the checker knows that it is a list: a set, which costs nothing. */
export function constantSet(overloads: readonly Overload[], needle: Node, container: Node): Node | undefined {
  if (container.kind !== "constant" || !Array.isArray(container.value)) return undefined;
  if (overloads.length !== 1 || overloads[0]!.id !== "in_list") return undefined;
  const elements = container.value as readonly Value[];
  if (elements.length === 0) return constant(false);
  const set = ConstantSet.of(elements);
  return set === undefined ? undefined : { kind: "inSet", needle, set };
}

/** Chooses the implementation of a call. Throws ProgramError for an invalid constant pattern. */
export function invocation(
  declaration: FunctionDeclaration,
  overloads: readonly Overload[],
  args: readonly Node[],
  context: CallContext,
): Invocation {
  const { name } = declaration;
  const single = overloads.length === 1 ? overloads[0] : undefined;
  const arity = args.length;
  // If several overloads match, cel-go makes a call with any number of arguments of them.
  const dispatched = single === undefined && declaration.singleton === undefined;
  const pattern = declaration.hasPattern ? constantText(args[1]) : undefined;
  const compiled = pattern === undefined ? undefined : context.patterns.compile(pattern);
  if (typeof compiled === "string") throw new ProgramError(compiled);
  // Upstream compiles a constant pattern once, into a call that does not check the types of its arguments.
  const unchecked = pattern === undefined ? undefined : single?.invoke;
  return {
    name,
    invoke:
      unchecked === undefined
        ? implementation(declaration, single, arity, context)
        : bound(unchecked, context),
    cost: callCost((single ?? declaration).cost?.charge, arity, context),
    stopsEarly: arity > 2 || name === "format" || pattern !== undefined || dispatched,
    prepaid: declaration.prepaid === true,
  };
}

function constantText(node: Node | undefined): string | undefined {
  return node?.kind === "constant" && typeof node.value === "string" ? node.value : undefined;
}
