import { check } from "./check/checker.ts";
import type { Scope } from "./check/env.ts";
import { checkFormats } from "./check/format-validator.ts";
import { checkLiterals } from "./check/literal-validators.ts";
import { typeWithoutValue } from "./check/type-references.ts";
import { type Backend, createBackend, type Evaluator } from "./compile/backend.ts";
import { deviceIndex, Frame } from "./compile/frame.ts";
import type { Lowered } from "./compile/ir.ts";
import { lower, type Names, PlanError } from "./compile/lower.ts";
import { estimate, type Shape } from "./cost/estimator.ts";
import { failureHints } from "./device/hints.ts";
import { type CallContext, FunctionCaches } from "./library/call-context.ts";
import { functionTable } from "./library/declarations.ts";
import { findPatchType, includesLibrary, libraries, libraryTypes, patchLibrary } from "./library/index.ts";
import { type Expr, walk } from "./syntax/ast.ts";
import type { Syntax } from "./syntax/macros.ts";
import { parse } from "./syntax/parser.ts";
import { type Problem, Source } from "./syntax/source.ts";
import { ElementBudget } from "./values/element-budget.ts";
import * as types from "./values/types.ts";
import { type CelType, typeOf } from "./values/types.ts";
import { CelError, type Value } from "./values/value.ts";

/** An expression that does not compile, with the text that the API server reports. */
export interface CompileFailure {
  readonly ok: false;
  /** As cel-go words it: `ERROR: <input>:1:8: undeclared reference to 'x' (in container '')` and the caret line. */
  readonly error: string;
  /** Which error the API server makes of it. */
  readonly type: "RuleInvalid" | "InternalError";
  /** What may have been meant, one sentence each, where we can guess; upstream has none. */
  readonly hints: readonly string[];
}

export interface EvaluateOptions {
  /** Another run-time limit than `costLimit`. */
  readonly costLimit?: number;
}

/** What an expression gave; `cost` is what was spent, up to an error. */
export type Result =
  | { readonly value: Value; readonly error?: undefined; readonly cost: number }
  | { readonly value?: undefined; readonly error: string; readonly cost: number };

/** What an environment knows besides the language and the libraries of Kubernetes. */
export interface EnvironmentOptions {
  /** Types of the variables, by name; a name may be qualified: `a.b`. */
  readonly variables?: Readonly<Record<string, CelType>>;
  /** Names are looked for in this namespace and those around it first. */
  readonly container?: string;
  /** How large the variables can be, for the estimate of the cost. */
  readonly sizes?: Readonly<Record<string, Shape>>;
  /** Types with fields of their own: by the name of the type, then of the field. */
  readonly fields?: ReadonlyMap<string, ReadonlyMap<string, CelType>>;
  /** Leaves out `includes()`, which is younger than the rest. */
  readonly withoutIncludes?: boolean;
  /**
   * Leaves out what the environment of device selectors adds to that of other expressions of Kubernetes: `cel.bind`,
   * names of fields in backticks, `includes()`.
   */
  readonly basic?: boolean;
  /**
   * Adds the types `Object`, `Object.…` and `JSONPatch`, and `jsonpatch.escapeKey`, for MutatingAdmissionPolicies
   * (KEP-3962).
   */
  readonly patchTypes?: boolean;
  /** Forces a back end; both give the same answers, errors and costs. */
  readonly backend?: Backend;
}

/** A general environment: the CEL of Kubernetes with variables of one's own. */
export interface Environment {
  /** `refuse` returns an error for an expression of an unwanted type, before the program is made. */
  compile(expression: string, refuse?: (type: CelType) => string | undefined): Program | CompileFailure;
}

export interface Program {
  readonly ok: true;
  readonly expression: string;
  readonly type: CelType;
  /** The estimate of the highest cost; 2^64-1 where nothing bounds it. */
  readonly maxCost: number | bigint;
  /** The variables of the environment that the expression names. */
  readonly variables: ReadonlySet<string>;
  /** Never throws: what goes wrong at run time is data. A variable without a value is an error where it is used. */
  evaluate(bindings: Readonly<Record<string, Value>>, options?: EvaluateOptions): Result;
}

/** Highest cost of one selector, estimated and spent (resource.k8s.io CELSelectorExpressionMaxCost). */
export const costLimit = 1_000_000;

/** Names of the types of the language, which are values too. */
const typeNames: ReadonlyMap<string, CelType> = new Map(
  [
    types.boolType,
    types.bytesType,
    types.doubleType,
    types.durationType,
    types.intType,
    types.listType(types.dynType),
    types.mapType(types.dynType, types.dynType),
    types.nullType,
    types.stringType,
    types.timestampType,
    types.uintType,
    types.typeType,
    ...libraryTypes,
  ].map((type) => [type.name, typeOf(type)]),
);
/** Names by which the checker knows types, and under which no value is found. */
const typesWithoutValue: ReadonlyMap<string, CelType> = new Map([
  ["duration", typeOf(types.durationType)],
  ["timestamp", typeOf(types.timestampType)],
]);
const functions = functionTable(...libraries);
const functionsWithIncludes = functionTable(...libraries, includesLibrary);
const functionsWithPatches = functionTable(...libraries, patchLibrary);

function functionsFor({ withoutIncludes, basic, patchTypes }: EnvironmentOptions): Scope["functions"] {
  if (patchTypes) return functionsWithPatches;
  return withoutIncludes || basic ? functions : functionsWithIncludes;
}

/** Makes an environment with the given variables. */
export function createEnvironment(options: EnvironmentOptions = {}): Environment {
  const compiler = createCompiler(options);
  const variables = Object.keys(options.variables ?? {});
  return {
    compile: (expression, refuse) => {
      const compiled = compiler(expression, (type) => {
        const error = refuse?.(type);
        return error === undefined ? undefined : { error, hints: [] };
      });
      if (!compiled.ok) return compiled;
      const { type, maxCost, frame, run } = compiled;
      return {
        ok: true,
        expression,
        type,
        maxCost,
        variables: namedGlobals(compiled.expr),
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

function namedGlobals(expr: Expr): Set<string> {
  const names = new Set<string>();
  for (const part of walk(expr)) {
    if ((part.kind === "identifier" || part.kind === "select") && part.global !== undefined)
      names.add(part.global);
  }
  return names;
}

/** What the text of an error is when the run-time limit was exceeded. */
export const limitExceededText = "operation cancelled: actual cost limit exceeded";

/** An expression ready to run in its own frame, which each evaluation fills in anew. */
export interface Compiled {
  readonly ok: true;
  readonly expr: Expr;
  readonly type: CelType;
  readonly maxCost: number | bigint;
  readonly lowered: Lowered;
  readonly frame: Frame;
  readonly run: Evaluator;
}

/** Why an expression is turned down for its type, and what may have been meant. */
export interface Refusal {
  readonly error: string;
  readonly hints: readonly string[];
}

/** `refuse` may turn an expression down for its type; upstream does so before it makes a program of it. */
export type Compiler = (
  expression: string,
  refuse?: (type: CelType, expr: Expr) => Refusal | undefined,
) => Compiled | CompileFailure;

/** What environments are made of: variables of the options have their places in order, `device` has none. */
export function createCompiler(options: EnvironmentOptions, device?: CelType): Compiler {
  const own = Object.entries(options.variables ?? {});
  const declared = device === undefined ? own : [...own, ["device", device] as const];
  const scope: Scope = {
    variables: new Map([...typeNames, ...typesWithoutValue, ...declared]),
    fields: options.fields ?? new Map(),
    messages: options.patchTypes ? findPatchType : undefined,
    functions: functionsFor(options),
    container: options.container ?? "",
  };
  const caches = new FunctionCaches();
  const context: CallContext = { ...caches, budget: new ElementBudget() };
  const names: Names = {
    functions: scope.functions,
    types: new Set(typeNames.keys()),
    messages: scope.messages,
    variables: new Map(declared.map(([name], i) => [name, i < own.length ? i : deviceIndex])),
    context,
  };
  const backend = createBackend(options.backend);
  const syntax = {
    bindings: options.basic !== true,
    // Annotation keys occur as field names: `Object.metadata.annotations{…}`.
    escapedNames: options.basic !== true || options.patchTypes === true,
  };
  return (expression, refuse) => {
    const checked = parseAndCheck(expression, scope, syntax, context);
    if (!checked.ok) return checked;
    const { expr } = checked;
    const type = expr.type ?? types.errorType;
    const refusal = refuse?.(type, expr);
    if (refusal !== undefined) return invalid(refusal.error, refusal.hints);
    const undefinedType = typeWithoutValue(expr, (name) => names.types.has(name));
    if (undefinedType !== undefined) return uninstantiable(`reference to undefined type: ${undefinedType}`);
    try {
      const lowered = lower(expr, names);
      const most = estimate(expr, options.sizes ?? {});
      const maxCost = most <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(most) : most;
      const frame = new Frame(lowered.slots, caches);
      return { ok: true, expr, type, maxCost, lowered, frame, run: backend(lowered.root) };
    } catch (error) {
      if (!(error instanceof PlanError)) throw error;
      return uninstantiable(error.message);
    }
  };
}

function parseAndCheck(
  expression: string,
  scope: Scope,
  syntax: Syntax,
  context: CallContext,
): { ok: true; expr: Expr } | CompileFailure {
  const source = new Source(expression);
  const parsed = parse(source, syntax);
  const expr = parsed.expr;
  if (expr === undefined) return uncompilable(source, undefined, parsed.problems);
  let problems = check(expr, scope);
  if (problems.length === 0)
    problems = [...checkLiterals(expr, scope.functions, context), ...checkFormats(expr)];
  if (problems.length > 0) return uncompilable(source, expr, problems);
  return { ok: true, expr };
}

function uncompilable(source: Source, expr: Expr | undefined, problems: readonly Problem[]): CompileFailure {
  const hints = failureHints(source, expr, problems);
  return invalid(`compilation failed: ${source.report(problems)}`, hints);
}

function invalid(error: string, hints: readonly string[]): CompileFailure {
  return { ok: false, error, type: "RuleInvalid", hints };
}

function uninstantiable(reason: string): CompileFailure {
  return { ok: false, error: `program instantiation failed: ${reason}`, type: "InternalError", hints: [] };
}
