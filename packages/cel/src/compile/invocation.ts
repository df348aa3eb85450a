import type { CallCost } from "../cost/tracker-rules.ts";
import type { FunctionDeclaration, Implementation, Overload } from "../library/declarations.ts";
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

/** A call with its function chosen, as far as types tell. */
export interface Invocation {
  readonly name: string;
  /** Number of arguments, a receiver included. */
  readonly arity: number;
  /** Called with values that are no errors. */
  readonly invoke: Implementation;
  readonly cost: number | CallCost;
  /**
   * The first error ends the call and nothing is spent on it, unless it is the last argument's: cel-go evaluates no
   * further argument and then misses them when it counts. Otherwise all arguments are evaluated, and paid for.
   */
  readonly stopsEarly: boolean;
  /** The work grows faster than the arguments: what cannot be paid for is not begun. */
  readonly prepaid: boolean;
}

/** A test of one argument at run time; undefined where every value fits. */
type Test = (value: Value) => boolean;

function testOf(type: CelType): Test | undefined {
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

/** Calls the form that fits the arguments; with a form known beforehand, only that. */
export function implementation(
  declaration: FunctionDeclaration,
  single: Overload | undefined,
  arity: number,
): Implementation {
  const invoke = declaration.whole ?? dispatch(declaration, single, arity);
  return (a, b, c, d) => {
    const result = invoke(a, b, c, d);
    if (result instanceof CelError && result.message.startsWith(panicked)) throw new Panic(result);
    return result;
  };
}

/** How cel-go words that Go panicked: no operator absorbs that, the evaluation ends there and then. */
const panicked = "internal error: ";

function dispatch(
  declaration: FunctionDeclaration,
  single: Overload | undefined,
  arity: number,
): Implementation {
  const candidates = (single === undefined ? declaration.overloads : [single])
    .filter((overload) => overload.args.length === arity)
    .map((overload) => guarded(overload));
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

/** The form, or undefined where the arguments are not of its types. */
function guarded(overload: Overload): (a: Value, b: Value, c: Value, d: Value) => Value | undefined {
  const invoke = overload.invoke!;
  if (overload.unguarded === true) return invoke;
  const [first, second, ...others] = overload.args.map(testOf);
  if (others.every((test) => test === undefined)) {
    if (second === undefined) {
      if (first === undefined) return invoke;
      return (a, b, c, d) => (first(a) ? invoke(a, b, c, d) : undefined);
    }
    if (first === undefined) return (a, b, c, d) => (second(b) ? invoke(a, b, c, d) : undefined);
    return (a, b, c, d) => (first(a) && second(b) ? invoke(a, b, c, d) : undefined);
  }
  const tests = [first, second, ...others];
  return (a, b, c, d) => {
    const args = [a, b, c, d];
    return tests.every((test, i) => test === undefined || test(args[i]!)) ? invoke(a, b, c, d) : undefined;
  };
}
