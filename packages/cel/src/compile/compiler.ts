import type { CheckedExpression } from "../check/checked-expression.ts";
import { check } from "../check/checker.ts";
import type { CheckerEnv } from "../check/env.ts";
import { validateFormats } from "../check/format-validator.ts";
import { validateLiterals } from "../check/literal-validators.ts";
import { undefinedType } from "../check/type-references.ts";
import { type DeclaredSize, estimateCost } from "../cost/estimator.ts";
import { failureHints } from "../device/hints.ts";
import { type CallContext, FunctionCaches } from "../library/call-context.ts";
import { functionTable } from "../library/declarations.ts";
import { findPatchType, includesLibrary, libraries, libraryTypes, patchLibrary } from "../library/index.ts";
import type { Features } from "../syntax/macros.ts";
import { parse } from "../syntax/parser.ts";
import { type Problem, Source } from "../syntax/source.ts";
import { ElementBudget } from "../values/element-budget.ts";
import * as types from "../values/types.ts";
import { type CelType, typeOf } from "../values/types.ts";
import { type Backend, createBackend, type Evaluator } from "./backend.ts";
import { ProgramError } from "./call-lowering.ts";
import { deviceIndex, Frame } from "./frame.ts";
import type { Lowered } from "./ir.ts";
import { lower, type Names } from "./lower.ts";

/** An invalid expression, with the error text of the API server. */
export interface CompileFailure {
  readonly ok: false;
  /**
   * cel-go's text: `ERROR: <input>:1:8: undeclared reference to 'x' (in container '')` and the line with a
   * caret.
   */
  readonly error: string;
  /** The type of the error that the API server makes of it. */
  readonly type: "RuleInvalid" | "InternalError";
  /** Suggestions, one sentence each. Upstream has none. */
  readonly hints: readonly string[];
}

/** Declarations of an environment in addition to the language and the libraries of Kubernetes. */
export interface EnvironmentOptions {
  /** Types of the variables, by name; a name may be qualified: `a.b`. */
  readonly variables?: Readonly<Record<string, CelType>>;
  /** The namespace in which names are looked up first, then in those around it. */
  readonly container?: string;
  /** Maximum sizes of the variables, for the cost estimate. */
  readonly sizes?: Readonly<Record<string, DeclaredSize>>;
  /** Types with fields, by the name of the type and of the field. */
  readonly fields?: ReadonlyMap<string, ReadonlyMap<string, CelType>>;
  /** Leaves out `includes()`, which is newer than the other functions. */
  readonly withoutIncludes?: boolean;
  /**
   * Leaves out what the environment of device selectors adds to that of other expressions of Kubernetes:
   * `cel.bind`, names of fields in backticks, `includes()`.
   */
  readonly basic?: boolean;
  /**
   * Adds the types `Object`, `Object.…` and `JSONPatch`, and `jsonpatch.escapeKey`, for
   * MutatingAdmissionPolicies (KEP-3962).
   */
  readonly patchTypes?: boolean;
  /** Forces a back end. Results, errors and costs are the same with both. */
  readonly backend?: Backend;
}

/** An expression that is ready to run. Its one frame is filled in by each evaluation. */
export interface Compiled {
  readonly ok: true;
  readonly checked: CheckedExpression;
  readonly maxCost: number | bigint;
  readonly lowered: Lowered;
  readonly frame: Frame;
  readonly run: Evaluator;
}

/** Why the type of an expression is not accepted. */
export interface Rejection {
  readonly error: string;
  readonly hints: readonly string[];
}

/** `reject` may reject an expression for its type. Upstream does so before it makes a program. */
export type Compiler = (
  expression: string,
  reject?: (checked: CheckedExpression) => Rejection | undefined,
) => Compiled | CompileFailure;

/** Names of types that are values, too. */
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
/** Names of types for the checker without a value at run time. */
const typesWithoutValue: ReadonlyMap<string, CelType> = new Map([
  ["duration", typeOf(types.durationType)],
  ["timestamp", typeOf(types.timestampType)],
]);
const functions = functionTable(...libraries);
const functionsWithIncludes = functionTable(...libraries, includesLibrary);
const functionsWithPatches = functionTable(...libraries, patchLibrary);

function functionsFor({ withoutIncludes, basic, patchTypes }: EnvironmentOptions): CheckerEnv["functions"] {
  if (patchTypes) return functionsWithPatches;
  return withoutIncludes || basic ? functions : functionsWithIncludes;
}

/** Makes the compiler of an environment. `device` is the type of the variable `device` of selectors. */
export function createCompiler(options: EnvironmentOptions, device?: CelType): Compiler {
  const own = Object.entries(options.variables ?? {});
  const declared = device === undefined ? own : [...own, ["device", device] as const];
  const env: CheckerEnv = {
    variables: new Map([...typeNames, ...typesWithoutValue, ...declared]),
    fields: options.fields ?? new Map(),
    messages: options.patchTypes ? findPatchType : undefined,
    functions: functionsFor(options),
    container: options.container ?? "",
  };
  const caches = new FunctionCaches();
  const names: Omit<Names, "context"> = {
    functions: env.functions,
    types: new Set(typeNames.keys()),
    messages: env.messages,
    variables: new Map(declared.map(([name], i) => [name, i < own.length ? i : deviceIndex])),
  };
  const features: Features = {
    bindings: options.basic !== true,
    // Annotation keys are field names of patches: `Object.metadata.annotations{…}`.
    escapedNames: options.basic !== true || options.patchTypes === true,
  };
  const evaluator = createBackend(options.backend);
  return (expression, reject) => {
    const context: CallContext = { ...caches, budget: new ElementBudget() };
    const result = parseAndCheck(expression, env, features, context);
    if ("ok" in result) return result;
    const checked = result;
    const rejection = reject?.(checked);
    if (rejection !== undefined) return invalid(rejection.error, rejection.hints);
    const missing = undefinedType(checked, (name) => names.types.has(name));
    if (missing !== undefined) return withoutProgram(`reference to undefined type: ${missing}`);
    try {
      const lowered = lower(checked, { ...names, context });
      const cost = estimateCost(checked, options.sizes ?? {});
      const maxCost = cost <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(cost) : cost;
      const frame = new Frame(lowered.slots, context.budget);
      return { ok: true, checked, maxCost, lowered, frame, run: evaluator(lowered.root) };
    } catch (error) {
      if (!(error instanceof ProgramError)) throw error;
      return withoutProgram(error.message);
    }
  };
}

function parseAndCheck(
  expression: string,
  env: CheckerEnv,
  features: Features,
  context: CallContext,
): CheckedExpression | CompileFailure {
  const source = new Source(expression);
  const parsed = parse(source, features);
  if (parsed.expr === undefined) return uncompilable(source, undefined, parsed.problems);
  const { checked, problems } = check(parsed.expr, env);
  if (problems.length > 0) return uncompilable(source, checked, problems);
  const invalid = [...validateLiterals(checked, env.functions, context), ...validateFormats(checked)];
  return invalid.length > 0 ? uncompilable(source, checked, invalid) : checked;
}

function uncompilable(
  source: Source,
  checked: CheckedExpression | undefined,
  problems: readonly Problem[],
): CompileFailure {
  const hints = failureHints(source, checked, problems);
  return invalid(`compilation failed: ${source.report(problems)}`, hints);
}

function invalid(error: string, hints: readonly string[]): CompileFailure {
  return { ok: false, error, type: "RuleInvalid", hints };
}

function withoutProgram(reason: string): CompileFailure {
  return { ok: false, error: `program instantiation failed: ${reason}`, type: "InternalError", hints: [] };
}
