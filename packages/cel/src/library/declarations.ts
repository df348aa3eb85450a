import { type CelType, typeParam } from "../values/types.ts";
import type { Value } from "../values/value.ts";
import type { CallContext } from "./call-context.ts";
import type { Cost } from "./costs/cost.ts";

/** Called without CelErrors as arguments; a receiver comes first, missing arguments are null. */
export type Implementation = (a: Value, b: Value, c: Value, d: Value) => Value;

/** Makes the implementation of a call in a program that needs more than its arguments. */
export interface Contextual {
  readonly inContext: (context: CallContext) => Implementation;
}

export const inContext = (make: Contextual["inContext"]): Contextual => ({ inContext: make });

/** Returns the implementation for calls in the program of a context. */
export const bound = (invoke: Implementation | Contextual, context: CallContext): Implementation =>
  typeof invoke === "function" ? invoke : invoke.inContext(context);

/** One signature of a function. */
export interface Overload {
  /** The overload ID of cel-go. */
  readonly id: string;
  /** Called as `receiver.name(args)`: the receiver is the first of `args`. */
  readonly member: boolean;
  readonly args: readonly CelType[];
  readonly result: CelType;
  /**
   * Called only with arguments of its types. Absent if the function has one implementation for all overloads.
   */
  readonly invoke?: Implementation | Contextual;
  /** `invoke` checks the types of its arguments itself. */
  readonly unguarded?: true;
  /** Applies where the types of the arguments are known; it has precedence over the function's cost. */
  readonly cost?: Cost;
}

/** Validates the text of a constant argument. */
export type LiteralCheck = (text: string, context: CallContext) => boolean;

export interface FunctionDeclaration {
  readonly name: string;
  readonly overloads: readonly Overload[];
  /** The implementation of all overloads (cel-go's singleton binding). It checks the types itself. */
  readonly singleton?: Implementation | Contextual;
  /** The cost of all overloads without a cost of their own. */
  readonly cost?: Cost;
  /** The work is quadratic: it is charged before it starts. */
  readonly prepaid?: true;
  /** With a constant argument it is evaluated at compile time, where its error is a compile error. */
  readonly isConversion?: true;
  /** With constant arguments it is evaluated at compile time, and charged at each evaluation. */
  readonly parsesConstants?: true;
  /** The second argument is a pattern, which is compiled once if it is constant. */
  readonly hasPattern?: true;
  /** Validates a constant argument at compile time. */
  readonly checkLiteral?: LiteralCheck;
}

/** Type parameters of declarations. */
export const T = typeParam("T");
export const K = typeParam("K");
export const V = typeParam("V");

export function declare(
  name: string,
  overloads: readonly Overload[],
  singleton?: Implementation | Contextual,
): FunctionDeclaration {
  return singleton === undefined ? { name, overloads } : { name, overloads, singleton };
}

/** An overload that is called as `name(args)`. */
export function overload(
  id: string,
  args: readonly CelType[],
  result: CelType,
  invoke?: Implementation | Contextual,
): Overload {
  return { id, member: false, args, result, ...(invoke === undefined ? {} : { invoke }) };
}

/** An overload that is called as `receiver.name(args)`. */
export function method(
  id: string,
  args: readonly CelType[],
  result: CelType,
  invoke?: Implementation | Contextual,
): Overload {
  return { ...overload(id, args, result, invoke), member: true };
}

/** Adds a cost to an overload or to all overloads of a function. */
export const priced = <D extends Overload | FunctionDeclaration>(cost: Cost, declaration: D): D => ({
  ...declaration,
  cost,
});

/** Maps names to the functions of an environment. Overloads of one name from several libraries are joined. */
export function functionTable(
  ...libraries: readonly (readonly FunctionDeclaration[])[]
): ReadonlyMap<string, FunctionDeclaration> {
  const table = new Map<string, FunctionDeclaration>();
  for (const declaration of libraries.flat()) {
    const known = table.get(declaration.name);
    const overloads = [...(known?.overloads ?? []), ...declaration.overloads];
    table.set(declaration.name, { ...declaration, ...known, overloads });
  }
  for (const [name, declaration] of table) table.set(name, withCosts(declaration));
  return table;
}

/** Gives the cost of the function to its overloads. */
function withCosts(declaration: FunctionDeclaration): FunctionDeclaration {
  const { cost, overloads } = declaration;
  if (cost === undefined) return declaration;
  return {
    ...declaration,
    overloads: overloads.map((overload) => ({ ...overload, cost: { ...cost, ...overload.cost } })),
  };
}
