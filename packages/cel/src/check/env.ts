import type { FunctionDeclaration } from "../library/declarations.ts";
import { escapedReservedWord } from "../values/field-names.ts";
import type { FindMessage } from "../values/message.ts";
import { type CelType, structType, typeOf } from "../values/types.ts";

/** The declarations of an environment (cel-go's checker.Env). */
export interface CheckerEnv {
  /** A name may have dots. Types of the language are variables of type `type(…)`. */
  readonly variables: ReadonlyMap<string, CelType>;
  /** The fields of types, by the name of the type and of the field. */
  readonly fields: ReadonlyMap<string, ReadonlyMap<string, CelType>>;
  /** Message types besides those of `fields`. */
  readonly messages?: FindMessage | undefined;
  readonly functions: ReadonlyMap<string, FunctionDeclaration>;
  /** The namespace in which names are looked up first (`a.b`, then `a`, then the root); "" for none. */
  readonly container?: string;
}

/** The full names that a name of the source can stand for, the most specific first. */
function* candidates(env: CheckerEnv, name: string): Iterable<string> {
  if (name.startsWith(".")) {
    yield name.slice(1);
    return;
  }
  let container = env.container ?? "";
  while (container !== "") {
    yield `${container}.${name}`;
    container = container.slice(0, Math.max(0, container.lastIndexOf(".")));
  }
  yield name;
}

/** Reports whether a type has fields. */
export function isStruct({ fields, messages }: CheckerEnv, name: string): boolean {
  return fields.has(name) || messages?.(name) !== undefined;
}

/** The type of a field; undefined if the type lacks it, "unknown type" if the type has no fields. */
export function fieldOf(env: CheckerEnv, type: string, field: string): CelType | "unknown type" | undefined {
  const fields = env.fields.get(type);
  if (fields !== undefined) return fields.get(field) ?? fields.get(escapedReservedWord(field) ?? "");
  const message = env.messages?.(type);
  return message === undefined ? "unknown type" : message.field(field);
}

/** Finds a variable, or a type as a value, and its full name. */
export function findGlobal(env: CheckerEnv, name: string): { name: string; type: CelType } | undefined {
  for (const candidate of candidates(env, name)) {
    const type = env.variables.get(candidate);
    if (type !== undefined) return { name: candidate, type };
    if (isStruct(env, candidate)) return { name: candidate, type: typeOf(structType(candidate)) };
  }
  return undefined;
}

export function findFunction(env: CheckerEnv, name: string): FunctionDeclaration | undefined {
  for (const candidate of candidates(env, name)) {
    const declaration = env.functions.get(candidate);
    if (declaration !== undefined) return declaration;
  }
  return undefined;
}

/** Finds the type that `name{…}` makes. */
export function findType(env: CheckerEnv, name: string): CelType | undefined {
  for (const candidate of candidates(env, name)) {
    const declared = env.variables.get(candidate);
    if (declared?.kind === "type") return declared.params[0];
    if (isStruct(env, candidate)) return structType(candidate);
  }
  return undefined;
}
