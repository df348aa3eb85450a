import type { FunctionDeclaration } from "../library/declarations.ts";
import type { FindMessage } from "../values/message.ts";
import { type CelType, structType, typeOf } from "../values/types.ts";

/** What names mean: the variables, the fields of declared types and the functions. */
export interface Scope {
  /** A name may have dots. The types of the language are variables, too, of type `type(…)`. */
  readonly variables: ReadonlyMap<string, CelType>;
  /** By the name of the type, then of the field. */
  readonly fields: ReadonlyMap<string, ReadonlyMap<string, CelType>>;
  /** Message types beside those of `fields`. */
  readonly messages?: FindMessage | undefined;
  readonly functions: ReadonlyMap<string, FunctionDeclaration>;
  /** Names are looked up in here first (`a.b`, then `a`, then at the root); "" where there is none. */
  readonly container?: string;
}

/** What a name in the source may mean, the most specific first. */
function* candidates(scope: Scope, name: string): Iterable<string> {
  if (name.startsWith(".")) {
    yield name.slice(1);
    return;
  }
  let container = scope.container ?? "";
  while (container !== "") {
    yield `${container}.${name}`;
    container = container.slice(0, Math.max(0, container.lastIndexOf(".")));
  }
  yield name;
}

/** Whether a type of that name has fields of its own. */
export function isStruct({ fields, messages }: Scope, name: string): boolean {
  return fields.has(name) || messages?.(name) !== undefined;
}

/** The type of a field; undefined if the type lacks it, "unknown type" if the type has no fields. */
export function fieldOf(scope: Scope, type: string, field: string): CelType | "unknown type" | undefined {
  const fields = scope.fields.get(type);
  if (fields !== undefined) return fields.get(field);
  const message = scope.messages?.(type);
  return message === undefined ? "unknown type" : message.field(field);
}

/** The variable of that name, or the type taken for a value, and its full name. */
export function findGlobal(scope: Scope, name: string): { name: string; type: CelType } | undefined {
  for (const candidate of candidates(scope, name)) {
    const type = scope.variables.get(candidate);
    if (type !== undefined) return { name: candidate, type };
    if (isStruct(scope, candidate)) return { name: candidate, type: typeOf(structType(candidate)) };
  }
  return undefined;
}

export function findFunction(scope: Scope, name: string): FunctionDeclaration | undefined {
  for (const candidate of candidates(scope, name)) {
    const declaration = scope.functions.get(candidate);
    if (declaration !== undefined) return declaration;
  }
  return undefined;
}

/** The type that is made by `name{…}`. */
export function findType(scope: Scope, name: string): CelType | undefined {
  for (const candidate of candidates(scope, name)) {
    const declared = scope.variables.get(candidate);
    if (declared?.kind === "type") return declared.params[0];
    if (isStruct(scope, candidate)) return structType(candidate);
  }
  return undefined;
}
