import type { DeviceAttribute } from "@dray/api/resource/v1";
import type { Backend } from "./compile/backend.ts";
import { type Reads, readsOf } from "./compile/reads.ts";
import type { Shape } from "./cost/estimator.ts";
import { attributeResult } from "./device/attribute-result.ts";
import { boolResult } from "./device/bool-result.ts";
import { resultHints } from "./device/hints.ts";
import { type DeviceInput, PreparedDevice } from "./device/prepared-device.ts";
import { selectorWarnings } from "./device/warnings.ts";
import {
  type Compiled,
  type CompileFailure,
  costLimit,
  createCompiler,
  type EvaluateOptions,
  limitExceededText,
  type Refusal,
} from "./environment.ts";
import type { Expr } from "./syntax/ast.ts";
import * as types from "./values/types.ts";
import {
  anyType,
  boolType,
  type CelType,
  declaredName,
  dynType,
  mapType,
  quantityType,
  sameType,
  stringType,
  structType,
} from "./values/types.ts";
import { CelError, type Value } from "./values/value.ts";

export interface DeviceEnvironmentOptions {
  /** True for expressions that an API server has stored: everything is known, gates are ignored. */
  readonly stored: boolean;
  /** Variables and functions of these gates are known too (only where `stored` is false). */
  readonly features?: { readonly consumableCapacity?: boolean; readonly listTypeAttributes?: boolean };
  /** Forces a back end; both give the same answers, errors and costs. */
  readonly backend?: Backend;
}

export type Evaluation =
  | { readonly matches: boolean; readonly error?: undefined; readonly cost: number }
  /** A run-time error; `cost` is what was spent up to it. */
  | { readonly matches?: undefined; readonly error: string; readonly cost: number };

export interface Selector {
  readonly ok: true;
  readonly expression: string;
  /** Of the result, as declarations write it: `bool`, or `any` or `dyn` where only a device tells. */
  readonly type: string;
  /** The estimate of the highest cost; the API server refuses more than `costLimit`. */
  readonly maxCost: number | bigint;
  readonly reads: Reads;
  /** What compiles and cannot have been meant, one sentence each; upstream has none. */
  readonly warnings: readonly string[];
  /** Never throws: what goes wrong at run time is data. */
  evaluate(device: DeviceInput | PreparedDevice, options?: EvaluateOptions): Evaluation;
}

/** The value of a derived attribute, or why there is none, in the words that follow `failed: ` upstream. */
export type AttributeEvaluation =
  | { readonly attribute: DeviceAttribute; readonly error?: undefined; readonly cost: number }
  | { readonly attribute?: undefined; readonly error: string; readonly cost: number };

/** The expression of a derived attribute (KEP-5491): its result is a scalar or a list of scalars. */
export interface AttributeExpression {
  readonly ok: true;
  readonly expression: string;
  readonly maxCost: number | bigint;
  readonly reads: Reads;
  /** Never throws. */
  evaluate(device: DeviceInput | PreparedDevice, options?: EvaluateOptions): AttributeEvaluation;
}

/** The environment of device selectors (KEP-4381). Compilations are cached by text, the latest few thousand. */
export interface DeviceEnvironment {
  compile(expression: string): Selector | CompileFailure;
  compileAttribute(expression: string): AttributeExpression | CompileFailure;
  /** Reads a device once for many evaluations. */
  prepare(device: DeviceInput): PreparedDevice;
}

/** Sizes that the API grants (resource.k8s.io). */
const domainSize = 63;
const idSize = 32;
const driverSize = 63;
const attributeSize = 64;
const entries = 32;

const hint =
  ". consider using CEL optional chaining (.? followed by orValue()) or guarding the check with has() for optional fields";

/** Makes the environment of device selectors of stored or of new expressions. */
export function deviceEnvironment(options: DeviceEnvironmentOptions): DeviceEnvironment {
  const lists = options.stored || options.features?.listTypeAttributes === true;
  const shares = options.stored || options.features?.consumableCapacity === true;
  const attribute = lists ? dynType : anyType;
  const device = structType("kubernetes.DRADevice");
  const fields = new Map<string, CelType>([
    ["driver", stringType],
    ["attributes", mapType(stringType, mapType(stringType, attribute))],
    ["capacity", mapType(stringType, mapType(stringType, quantityType))],
  ]);
  if (shares) fields.set("allowMultipleAllocations", boolType);
  const compile = createCompiler(
    {
      fields: new Map([[device.name, fields]]),
      sizes: { device: deviceShape() },
      withoutIncludes: !lists,
      ...(options.backend === undefined ? {} : { backend: options.backend }),
    },
    device,
  );
  const selectors = new Map<string, Selector | CompileFailure>();
  const attributes = new Map<string, AttributeExpression | CompileFailure>();
  return {
    compile: (expression) =>
      remember(selectors, expression, () => {
        const compiled = compile(expression, (type, expr) => noSelector(type, attribute, expr));
        return compiled.ok ? selector(expression, compiled) : compiled;
      }),
    compileAttribute: (expression) =>
      remember(attributes, expression, () => {
        const compiled = compile(expression, (type) => noAttribute(type, lists));
        return compiled.ok ? attributeExpression(expression, compiled) : compiled;
      }),
    prepare: (input) => new PreparedDevice(input),
  };
}

/** Compilations kept, by text; the one not asked for longest goes first. */
const mostCompiled = 4096;

function remember<T>(cache: Map<string, T>, key: string, make: () => T): T {
  let value = cache.get(key);
  if (value === undefined) value = make();
  else cache.delete(key);
  cache.set(key, value);
  if (cache.size > mostCompiled) cache.delete(cache.keys().next().value!);
  return value;
}

function deviceShape(): Shape {
  const outer = (ids: Shape): Shape => ({
    size: entries,
    key: { size: domainSize },
    element: { size: entries, key: { size: idSize }, ...ids },
  });
  const attribute = { size: attributeSize };
  return {
    size: 0,
    fields: {
      driver: { size: driverSize },
      allowMultipleAllocations: { size: 1 },
      attributes: outer({ element: attribute, anyField: attribute }),
      // Upstream knows a size for capacities that are indexed, namely none, and not for those named like a field.
      capacity: outer({ element: { size: 0 } }),
    },
  };
}

/** Why an expression of that type is no selector. */
function noSelector(type: CelType, attribute: CelType, expr: Expr): Refusal | undefined {
  if (sameType(type, boolType) || sameType(type, attribute)) return undefined;
  const error = `must evaluate to bool or the unknown type, not ${declaredName(type)}`;
  return { error, hints: resultHints(expr) };
}

function selector(expression: string, compiled: Compiled): Selector {
  const { maxCost } = compiled;
  return {
    ok: true,
    expression,
    type: declaredName(compiled.type),
    maxCost,
    reads: readsOf(compiled.lowered),
    warnings: selectorWarnings(compiled.expr),
    evaluate: (input, options) => {
      const value = evaluate(compiled, input, options);
      const cost = compiled.frame.cost;
      if (typeof value === "boolean") return { matches: value, cost };
      const result = value instanceof CelError ? value : boolResult(value);
      if (typeof result === "boolean") return { matches: result, cost };
      return { error: withHint(result.message), cost };
    },
  };
}

/** Evaluates for a device; what was spent is left in the frame. */
function evaluate(
  { frame, run }: Compiled,
  input: DeviceInput | PreparedDevice,
  options: EvaluateOptions | undefined,
): Value {
  const device = input instanceof PreparedDevice ? input : new PreparedDevice(input);
  frame.cost = 0;
  if (device.error !== undefined) return device.error;
  frame.device = device;
  frame.limit = options?.costLimit ?? costLimit;
  const value = run(frame);
  return value === undefined ? limitExceeded : value;
}

const limitExceeded = new CelError(limitExceededText);

function withHint(error: string): string {
  return error.includes("no such key: ") ? error + hint : error;
}

const scalars = "primitive scalar (string, integer, boolean, semver)";

/** Why an expression of that type is no derived attribute. */
function noAttribute(type: CelType, lists: boolean): Refusal | undefined {
  const scalar = (t: CelType): boolean =>
    [boolType, types.intType, stringType, anyType, dynType, types.semverType].some((a) => sameType(a, t));
  if (scalar(type) || (lists && type.kind === "list" && scalar(type.params[0]!))) return undefined;
  const wanted = lists ? `${scalars} or a list of these scalars` : scalars;
  return { error: `must evaluate to a ${wanted}, not ${declaredName(type)}`, hints: [] };
}

function attributeExpression(expression: string, compiled: Compiled): AttributeExpression {
  const { maxCost } = compiled;
  return {
    ok: true,
    expression,
    maxCost,
    reads: readsOf(compiled.lowered),
    evaluate: (input, options) => {
      const value = evaluate(compiled, input, options);
      const cost = compiled.frame.cost;
      const attribute = value instanceof CelError ? value : attributeResult(value);
      return attribute instanceof CelError ? { error: attribute.message, cost } : { attribute, cost };
    },
  };
}
