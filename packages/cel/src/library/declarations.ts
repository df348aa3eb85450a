import { type CelType, typeParam } from "../values/types.ts";
import type { Value } from "../values/value.ts";

/** Arguments are values that are no errors; a receiver comes first. */
export type Implementation = (a: Value, b: Value, c: Value, d: Value) => Value;

/** One form of a function. */
export interface Overload {
  /** cel-go's name of the form; costs hang on it. */
  readonly id: string;
  /** Called as `receiver.name(args)`: the receiver is the first of `args`. */
  readonly member: boolean;
  readonly args: readonly CelType[];
  readonly result: CelType;
  /** Called only with arguments of its types; absent where the whole function has one implementation. */
  readonly invoke?: Implementation;
  /** `invoke` looks at the types of its arguments itself. */
  readonly unguarded?: true;
}

export interface FunctionDeclaration {
  readonly name: string;
  readonly overloads: readonly Overload[];
  /** One implementation for all forms, which looks at the types itself. */
  readonly whole?: Implementation;
}

export const T = typeParam("T");
export const K = typeParam("K");
export const V = typeParam("V");

export function declare(
  name: string,
  overloads: readonly Overload[],
  whole?: Implementation,
): FunctionDeclaration {
  return whole === undefined ? { name, overloads } : { name, overloads, whole };
}

/** A form called as `name(args)`. */
export function form(
  id: string,
  args: readonly CelType[],
  result: CelType,
  invoke?: Implementation,
): Overload {
  return { id, member: false, args, result, ...(invoke === undefined ? {} : { invoke }) };
}

/** A form called as `receiver.name(args)`. */
export function method(
  id: string,
  args: readonly CelType[],
  result: CelType,
  invoke?: Implementation,
): Overload {
  return { ...form(id, args, result, invoke), member: true };
}

/** All functions of an environment by name; forms of one name from several libraries are joined. */
export function functionTable(
  ...libraries: readonly (readonly FunctionDeclaration[])[]
): ReadonlyMap<string, FunctionDeclaration> {
  const table = new Map<string, FunctionDeclaration>();
  for (const declaration of libraries.flat()) {
    const known = table.get(declaration.name);
    const whole = known?.whole ?? declaration.whole;
    const overloads = [...(known?.overloads ?? []), ...declaration.overloads];
    table.set(declaration.name, declare(declaration.name, overloads, whole));
  }
  return table;
}
