import type { CheckedExpression } from "./check/checked-expression.ts";
import { type CompileFailure, createCompiler, type EnvironmentOptions } from "./compile/compiler.ts";
import type { CelType } from "./values/types.ts";
import { CelError, type Value } from "./values/value.ts";

export type { CompileFailure, EnvironmentOptions } from "./compile/compiler.ts";

/** Maximum cost of a selector, estimated and at run time (resource.k8s.io CELSelectorExpressionMaxCost). */
export const costLimit = 1_000_000;

/** The error of an evaluation that exceeds the cost limit. */
export const limitExceededText = "operation cancelled: actual cost limit exceeded";

export interface EvaluateOptions {
  /** Maximum cost at run time; default: `costLimit`. */
  readonly costLimit?: number;
}

/** The result of an evaluation, with its cost up to the end or the error. */
export type Result =
  | { readonly value: Value; readonly error?: undefined; readonly cost: number }
  | { readonly value?: undefined; readonly error: string; readonly cost: number };

/** The CEL of Kubernetes with variables of the caller. */
export interface Environment {
  /** `reject` returns an error for an expression of an unwanted type, before a program is made. */
  compile(expression: string, reject?: (type: CelType) => string | undefined): Program | CompileFailure;
}

export interface Program {
  readonly ok: true;
  readonly expression: string;
  readonly type: CelType;
  /** The estimated maximum cost; 2^64-1 if nothing bounds it. */
  readonly maxCost: number | bigint;
  /** The variables and types of the environment that the expression names. */
  readonly variables: ReadonlySet<string>;
  /** Never throws: run-time errors are results. A variable without a binding is an error where it is used. */
  evaluate(bindings: Readonly<Record<string, Value>>, options?: EvaluateOptions): Result;
}

/** Makes an environment. Its caches live as long as it does. */
export function createEnvironment(options: EnvironmentOptions = {}): Environment {
  const compiler = createCompiler(options);
  const variables = Object.keys(options.variables ?? {});
  return {
    compile: (expression, reject) => {
      const compiled = compiler(expression, ({ type }) => {
        const error = reject?.(type);
        return error === undefined ? undefined : { error, hints: [] };
      });
      if (!compiled.ok) return compiled;
      const { checked, maxCost, frame, run } = compiled;
      return {
        ok: true,
        expression,
        type: checked.type,
        maxCost,
        variables: namedGlobals(checked),
        evaluate: (bindings, { costLimit: limit = costLimit } = {}) => {
          frame.limit = limit;
          frame.cost = 0;
          frame.variables = variables.map((name) =>
            Object.hasOwn(bindings, name) ? bindings[name] : undefined,
          );
          const value = run(frame);
          if (value === undefined) return { error: limitExceededText, cost: frame.cost };
          if (value instanceof CelError) return { error: value.message, cost: frame.cost };
          return { value, cost: frame.cost };
        },
      };
    },
  };
}

function namedGlobals(checked: CheckedExpression): Set<string> {
  const names = new Set<string>();
  for (const node of checked.nodes()) {
    const name = checked.globalOf(node);
    if (name !== undefined) names.add(name);
  }
  return names;
}
