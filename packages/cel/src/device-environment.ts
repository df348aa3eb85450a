import type { DeviceAttribute } from "@dray/api/resource/v1";
import type { CheckedExpression } from "./check/checked-expression.ts";
import type { Backend } from "./compile/backend.ts";
import { type Compiled, type CompileFailure, createCompiler, type Rejection } from "./compile/compiler.ts";
import { type Reads, readsOf } from "./compile/reads.ts";
import type { DeclaredSize } from "./cost/estimator.ts";
import { attributeResult } from "./device/attribute-result.ts";
import { boolResult } from "./device/bool-result.ts";
import { resultHints } from "./device/hints.ts";
import { type DeviceInput, PreparedDevice } from "./device/prepared-device.ts";
import { selectorWarnings } from "./device/warnings.ts";
import { costLimit, type EvaluateOptions, limitExceededText } from "./environment.ts";
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
  /**
   * True for expressions that an API server has stored: everything is declared, and `features` are ignored.
   */
  readonly stored: boolean;
  /** Feature gates that declare further variables and functions (only if `stored` is false). */
  readonly features?: { readonly consumableCapacity?: boolean; readonly listTypeAttributes?: boolean };
  /** Forces a back end. Results, errors and costs are the same with both. */
  readonly backend?: Backend;
}

export type Evaluation =
  | { readonly matches: boolean; readonly error?: undefined; readonly cost: number }
  /** A run-time error; `cost` is the cost up to it. */
  | { readonly matches?: undefined; readonly error: string; readonly cost: number };

export interface Selector {
  readonly ok: true;
  readonly expression: string;
  /** The type of the result in CEL's notation: `bool`, or `any` or `dyn` if it depends on the device. */
  readonly type: string;
  /** The estimated maximum cost. The API server rejects a selector with more than `costLimit`. */
  readonly maxCost: number | bigint;
  readonly reads: Reads;
  /** Valid code that is probably a mistake, one sentence each. Upstream has no warnings. */
  readonly warnings: readonly string[];
  /** Never throws: run-time errors are results. */
  evaluate(device: DeviceInput | PreparedDevice, options?: EvaluateOptions): Evaluation;
}

/** The value of a derived attribute, or an error in upstream's words after `failed: `. */
export type AttributeEvaluation =
  | { readonly attribute: DeviceAttribute; readonly error?: undefined; readonly cost: number }
  | { readonly attribute?: undefined; readonly error: string; readonly cost: number };

/** The expression of a derived attribute (KEP-5491): its result is a scalar or a list of scalars. */
export interface AttributeExpression {
  readonly ok: true;
  readonly expression: string;
  readonly maxCost: number | bigint;
  readonly reads: Reads;
  /** Never throws: run-time errors are results. */
  evaluate(device: DeviceInput | PreparedDevice, options?: EvaluateOptions): AttributeEvaluation;
}

/**
 * The environment of device selectors (KEP-4381). It keeps the last 4,096 compilations of each kind, by text.
 */
export interface DeviceEnvironment {
  compile(expression: string): Selector | CompileFailure;
  compileAttribute(expression: string): AttributeExpression | CompileFailure;
  /** Converts a device for many evaluations. */
  prepare(device: DeviceInput): PreparedDevice;
}

/** Maximum sizes of a device and its parts (resource.k8s.io). */
const maxDomainLength = 63;
const maxIdLength = 32;
const maxDriverLength = 63;
const maxAttributeLength = 64;
const maxEntries = 32;

const optionalChainingAdvice =
  ". consider using CEL optional chaining (.? followed by orValue()) or guarding the check with has() for optional fields";

/** Makes the environment of device selectors, for stored or for new expressions. */
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
      sizes: { device: deviceSize() },
      withoutIncludes: !lists,
      ...(options.backend === undefined ? {} : { backend: options.backend }),
    },
    device,
  );
  const selectors = new Map<string, Selector | CompileFailure>();
  const attributes = new Map<string, AttributeExpression | CompileFailure>();
  return {
    compile: (expression) =>
      cached(selectors, expression, () => {
        const compiled = compile(expression, (checked) => rejectSelector(checked, attribute));
        return compiled.ok ? selector(expression, compiled) : compiled;
      }),
    compileAttribute: (expression) =>
      cached(attributes, expression, () => {
        const compiled = compile(expression, ({ type }) => rejectAttribute(type, lists));
        return compiled.ok ? attributeExpression(expression, compiled) : compiled;
      }),
    prepare: (input) => new PreparedDevice(input),
  };
}

const maxCompilations = 4096;

/** An LRU cache. */
function cached<T>(cache: Map<string, T>, key: string, make: () => T): T {
  let value = cache.get(key);
  if (value === undefined) value = make();
  else cache.delete(key);
  cache.set(key, value);
  const [oldest] = cache.keys();
  if (oldest !== undefined && cache.size > maxCompilations) cache.delete(oldest);
  return value;
}

function deviceSize(): DeclaredSize {
  const byDomain = (ids: DeclaredSize): DeclaredSize => ({
    maxSize: maxEntries,
    key: { maxSize: maxDomainLength },
    element: { maxSize: maxEntries, key: { maxSize: maxIdLength }, ...ids },
  });
  const attribute = { maxSize: maxAttributeLength };
  return {
    maxSize: 0,
    fields: {
      driver: { maxSize: maxDriverLength },
      allowMultipleAllocations: { maxSize: 1 },
      attributes: byDomain({ element: attribute, anyField: attribute }),
      // Upstream declares the size 0 for capacities by index, and no size for capacities by field.
      capacity: byDomain({ element: { maxSize: 0 } }),
    },
  };
}

/** Rejects an expression whose type is neither bool nor that of an attribute. */
function rejectSelector(checked: CheckedExpression, attribute: CelType): Rejection | undefined {
  const { type } = checked;
  if (sameType(type, boolType) || sameType(type, attribute)) return undefined;
  const error = `must evaluate to bool or the unknown type, not ${declaredName(type)}`;
  return { error, hints: resultHints(checked) };
}

function selector(expression: string, compiled: Compiled): Selector {
  const { maxCost } = compiled;
  return {
    ok: true,
    expression,
    type: declaredName(compiled.checked.type),
    maxCost,
    reads: readsOf(compiled.lowered),
    warnings: selectorWarnings(compiled.checked),
    evaluate: (input, options) => {
      const value = evaluate(compiled, input, options);
      const cost = compiled.frame.cost;
      if (typeof value === "boolean") return { matches: value, cost };
      const result = value instanceof CelError ? value : boolResult(value);
      if (typeof result === "boolean") return { matches: result, cost };
      return { error: withAdvice(result.message), cost };
    },
  };
}

/** Evaluates for a device; leaves the cost in the frame. */
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

function withAdvice(error: string): string {
  return error.includes("no such key: ") ? error + optionalChainingAdvice : error;
}

const scalars = "primitive scalar (string, integer, boolean, semver)";

/** Rejects an expression whose type is not that of a derived attribute. */
function rejectAttribute(type: CelType, lists: boolean): Rejection | undefined {
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
