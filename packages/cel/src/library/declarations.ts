import { type CelType, typeParam } from "../values/types.ts";
import type { Value } from "../values/value.ts";
import type { CallContext } from "./call-context.ts";

/** Called without CelErrors as arguments; a receiver comes first, missing arguments are null. */
export type Implementation = (a: Value, b: Value, c: Value, d: Value, context: CallContext) => Value;

/** One signature of a function. */
export interface Overload {
  /** The overload ID of cel-go, which selects cost rules. */
  readonly id: string;
  /** Called as `receiver.name(args)`: the receiver is the first of `args`. */
  readonly member: boolean;
  readonly args: readonly CelType[];
  readonly result: CelType;
  /**
   * Called only with arguments of its types. Absent if the function has one implementation for all overloads.
   */
  readonly invoke?: Implementation;
  /** `invoke` checks the types of its arguments itself. */
  readonly unguarded?: true;
}

export interface FunctionDeclaration {
  readonly name: string;
  readonly overloads: readonly Overload[];
  /** The implementation of all overloads (cel-go's singleton binding). It checks the types itself. */
  readonly singleton?: Implementation;
}

/** Type parameters of declarations. */
export const T = typeParam("T");
export const K = typeParam("K");
export const V = typeParam("V");

export function declare(
  name: string,
  overloads: readonly Overload[],
  singleton?: Implementation,
): FunctionDeclaration {
  return singleton === undefined ? { name, overloads } : { name, overloads, singleton };
}

/** An overload that is called as `name(args)`. */
export function overload(
  id: string,
  args: readonly CelType[],
  result: CelType,
  invoke?: Implementation,
): Overload {
  return { id, member: false, args, result, ...(invoke === undefined ? {} : { invoke }) };
}

/** An overload that is called as `receiver.name(args)`. */
export function method(
  id: string,
  args: readonly CelType[],
  result: CelType,
  invoke?: Implementation,
): Overload {
  return { ...overload(id, args, result, invoke), member: true };
}

/** Maps names to the functions of an environment. Overloads of one name from several libraries are joined. */
export function functionTable(
  ...libraries: readonly (readonly FunctionDeclaration[])[]
): ReadonlyMap<string, FunctionDeclaration> {
  const table = new Map<string, FunctionDeclaration>();
  for (const declaration of libraries.flat()) {
    const known = table.get(declaration.name);
    const singleton = known?.singleton ?? declaration.singleton;
    const overloads = [...(known?.overloads ?? []), ...declaration.overloads];
    table.set(declaration.name, declare(declaration.name, overloads, singleton));
  }
  return table;
}
