import type { CallContext } from "../library/call-context.ts";
import type { ValueCharge } from "../library/costs/charges.ts";
import {
  bound,
  type FunctionDeclaration,
  type Implementation,
  type Overload,
} from "../library/declarations.ts";
import type { CelType } from "../values/types.ts";
import {
  CelError,
  isOfType,
  Panic,
  QuantityValue,
  SemverValue,
  typeName,
  type Value,
} from "../values/value.ts";

/** A call, with its implementation chosen as far as the types of its arguments are known. */
export interface Invocation {
  readonly name: string;
  /** Called without CelErrors as arguments. */
  readonly invoke: Implementation;
  readonly cost: number | ValueCharge;
  /**
   * Except for that of the last argument, the first error ends the call, and the call costs nothing: cel-go
   * evaluates no further argument, and its cost tracker then misses them. In other calls all arguments are
   * evaluated and charged.
   */
  readonly stopsEarly: boolean;
  /** The work is quadratic: it is charged before it starts. */
  readonly prepaid: boolean;
}

/** Checks the type of an argument at run time; undefined if every value fits. */
type Guard = (value: Value) => boolean;

function guardOf(type: CelType): Guard | undefined {
  switch (type.kind) {
    case "dyn":
    case "any":
    case "param":
      return undefined;
    case "bool":
      return (value) => typeof value === "boolean";
    case "int":
      return (value) => typeof value === "bigint";
    case "double":
      return (value) => typeof value === "number";
    case "string":
      return (value) => typeof value === "string";
    default:
      if (type.name === "kubernetes.Quantity") return (value) => value instanceof QuantityValue;
      if (type.name === "kubernetes.Semver") return (value) => value instanceof SemverValue;
      return (value) => isOfType(value, type);
  }
}

/** Dispatches on the types of the arguments; among all overloads if `single` is undefined. */
export function implementation(
  declaration: FunctionDeclaration,
  single: Overload | undefined,
  arity: number,
  context: CallContext,
): Implementation {
  const { singleton } = declaration;
  const invoke =
    singleton === undefined ? dispatch(declaration, single, arity, context) : bound(singleton, context);
  return (a, b, c, d) => {
    const result = invoke(a, b, c, d);
    if (result instanceof CelError && result.message.startsWith(panicPrefix)) throw new Panic(result);
    return result;
  };
}

/** The start of cel-go's error for a panic in Go. */
const panicPrefix = "internal error: ";

/** Undefined if the arguments do not have the types of the overload. */
type Attempt = (...call: Parameters<Implementation>) => Value | undefined;

function dispatch(
  declaration: FunctionDeclaration,
  single: Overload | undefined,
  arity: number,
  context: CallContext,
): Implementation {
  const candidates = (single === undefined ? declaration.overloads : [single])
    .filter((overload) => overload.args.length === arity)
    .map((overload) => guarded(overload, context));
  const mismatch = (args: readonly Value[]): CelError => {
    const names = args.slice(0, arity).map(typeName);
    return new CelError(`no such overload: ${declaration.name}(${names.join(", ")})`);
  };
  const only = candidates[0];
  if (candidates.length === 1 && only !== undefined) {
    return (a, b, c, d) => {
      const result = only(a, b, c, d);
      return result === undefined ? mismatch([a, b, c, d]) : result;
    };
  }
  return (a, b, c, d) => {
    for (const candidate of candidates) {
      const result = candidate(a, b, c, d);
      if (result !== undefined) return result;
    }
    return mismatch([a, b, c, d]);
  };
}

/** Functions without an implementation have nodes of their own in the program. */
const unimplemented: Implementation = () => {
  throw new TypeError("the function has no implementation");
};

function guarded(overload: Overload, context: CallContext): Attempt {
  const invoke = bound(overload.invoke ?? unimplemented, context);
  if (overload.unguarded === true) return invoke;
  const [first, second, ...others] = overload.args.map(guardOf);
  if (others.every((guard) => guard === undefined)) {
    if (second === undefined) {
      if (first === undefined) return invoke;
      return (a, b, c, d) => (first(a) ? invoke(a, b, c, d) : undefined);
    }
    if (first === undefined) return (a, b, c, d) => (second(b) ? invoke(a, b, c, d) : undefined);
    return (a, b, c, d) => (first(a) && second(b) ? invoke(a, b, c, d) : undefined);
  }
  const guards = [first, second, ...others];
  return (a, b, c, d) => {
    const args = [a, b, c, d];
    return guards.every((guard, i) => guard === undefined || guard(args[i]!))
      ? invoke(a, b, c, d)
      : undefined;
  };
}
