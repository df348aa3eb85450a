import type { DeviceAttribute, DeviceCapacity } from "@dray/api/resource/v1";
import { check, checkLiterals, type Scope } from "./checker.ts";
import { type FunctionDeclaration, functionTable } from "./declarations.ts";
import { deviceValue } from "./device.ts";
import { estimate, type Shape } from "./estimate.ts";
import { parseDuration, parseTimestamp } from "./library/conversions.ts";
import { includesLibrary, quantityLibrary } from "./library/kubernetes.ts";
import { listsLibrary, mapInsertLibrary } from "./library/lists.ts";
import { optionalLibrary } from "./library/optional.ts";
import { semverLibrary } from "./library/semver.ts";
import { setsLibrary } from "./library/sets.ts";
import { standardLibrary } from "./library/standard.ts";
import { stringsLibrary } from "./library/strings.ts";
import { timesLibrary } from "./library/times.ts";
import { parse } from "./parser.ts";
import { CostLimitExceeded, type Frame, PlanError, plan } from "./plan.ts";
import { Source } from "./source.ts";
import * as types from "./types.ts";
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
  typeOf,
} from "./types.ts";
import { CelError, typeName, type Value } from "./values.ts";

/** A device as a selector sees it. Names without a domain belong to the driver's domain. */
export interface DeviceInput {
  readonly driver: string;
  readonly attributes?: Readonly<Record<string, DeviceAttribute>>;
  readonly capacity?: Readonly<Record<string, DeviceCapacity>>;
  readonly allowMultipleAllocations?: boolean;
}

export interface DeviceEnvironmentOptions {
  /** True for expressions that an API server has stored: everything is known, gates are ignored. */
  readonly stored: boolean;
  /** Variables and functions of these gates are known too (only where `stored` is false). */
  readonly features?: { readonly consumableCapacity?: boolean; readonly listTypeAttributes?: boolean };
}

/** An expression that does not compile, with the text that the API server reports. */
export interface CompileFailure {
  readonly ok: false;
  /** As cel-go words it: `ERROR: <input>:1:8: undeclared reference to 'x' (in container '')` and the caret line. */
  readonly error: string;
  /** Which error the API server makes of it. */
  readonly type: "RuleInvalid" | "InternalError";
}

export type Evaluation =
  | { readonly matches: boolean; readonly error?: undefined; readonly cost: number }
  /** A run-time error; `cost` is what was spent up to it. */
  | { readonly matches?: undefined; readonly error: string; readonly cost: number };

export interface Selector {
  readonly ok: true;
  readonly expression: string;
  /** The estimate of the highest cost; the API server refuses more than `costLimit`. */
  readonly maxCost: number | bigint;
  /** Never throws: what goes wrong at run time is data. */
  evaluate(device: DeviceInput, options?: EvaluateOptions): Evaluation;
}

export interface EvaluateOptions {
  /** Another run-time limit than `costLimit`. */
  readonly costLimit?: number;
}

/** The environment of device selectors (KEP-4381). Compilations are cached by text. */
export interface DeviceEnvironment {
  compile(expression: string): Selector | CompileFailure;
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
    types.quantityType,
    types.semverType,
    types.optionalType(types.dynType),
  ].map((type) => [type.name, typeOf(type)]),
);

/** Sizes that the API grants (resource.k8s.io). */
const domainSize = 63;
const idSize = 32;
const driverSize = 63;
const attributeSize = 64;
const entries = 32;

/** The checks of constants know these; an error says that the text cannot be read. */
const readers: ReadonlyMap<string, (text: string) => Value> = new Map<string, (text: string) => Value>([
  ["duration", (text) => parseDuration(text) ?? new CelError("")],
  ["timestamp", (text) => parseTimestamp(text) ?? new CelError("")],
]);

const libraries: readonly (readonly FunctionDeclaration[])[] = [
  standardLibrary,
  optionalLibrary,
  stringsLibrary,
  quantityLibrary,
  semverLibrary,
  listsLibrary,
  mapInsertLibrary,
  setsLibrary,
  timesLibrary,
];
const functions = functionTable(...libraries);
const functionsWithIncludes = functionTable(...libraries, includesLibrary);

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
  const scope: Scope = {
    variables: new Map([...typeNames, ["device", device]]),
    fields: new Map([[device.name, fields]]),
    functions: lists ? functionsWithIncludes : functions,
  };
  const shape: Readonly<Record<string, Shape>> = { device: deviceShape() };
  const compiled = new Map<string, Selector | CompileFailure>();
  return {
    compile(expression) {
      let result = compiled.get(expression);
      if (result === undefined) {
        result = compileSelector(expression, scope, attribute, shape);
        compiled.set(expression, result);
      }
      return result;
    },
  };
}

function deviceShape(): Shape {
  const outer = (element: Shape): Shape => ({
    size: entries,
    key: { size: domainSize },
    element: { size: entries, key: { size: idSize }, element, anyField: element },
  });
  return {
    size: 0,
    fields: {
      driver: { size: driverSize },
      allowMultipleAllocations: { size: 1 },
      attributes: outer({ size: attributeSize }),
      capacity: outer({}),
    },
  };
}

function compileSelector(
  expression: string,
  scope: Scope,
  attribute: CelType,
  shape: Readonly<Record<string, Shape>>,
): Selector | CompileFailure {
  const source = new Source(expression);
  const parsed = parse(source);
  const expr = parsed.expr;
  if (expr === undefined) return invalid(`compilation failed: ${source.report(parsed.problems)}`);
  let problems = check(expr, scope);
  if (problems.length === 0) problems = checkLiterals(expr, readers);
  if (problems.length > 0) return invalid(`compilation failed: ${source.report(problems)}`);
  const type = expr.type ?? types.errorType;
  if (!sameType(type, boolType) && !sameType(type, attribute)) {
    return invalid(`must evaluate to bool or the unknown type, not ${declaredName(type)}`);
  }
  try {
    const names = new Map(
      [...scope.variables].filter(([, type]) => type.kind === "type").map(([name]) => [name, name]),
    );
    const { run, slots } = plan(expr, scope.functions, names);
    const most = estimate(expr, shape);
    return {
      ok: true,
      expression,
      maxCost: most <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(most) : most,
      evaluate: (device, options) => evaluate(run, slots, device, options?.costLimit ?? costLimit),
    };
  } catch (error) {
    if (!(error instanceof PlanError)) throw error;
    return { ok: false, error: `program instantiation failed: ${error.message}`, type: "InternalError" };
  }
}

function invalid(error: string): CompileFailure {
  return { ok: false, error, type: "RuleInvalid" };
}

function evaluate(
  run: (frame: Frame) => Value,
  slots: number,
  device: DeviceInput,
  limit: number,
): Evaluation {
  const value = deviceValue(device);
  if (value instanceof CelError) return { error: value.message, cost: 0 };
  const frame: Frame = {
    limit,
    cost: 0,
    locals: new Array<Value>(slots).fill(null),
    variables: new Map([["device", value]]),
  };
  try {
    const result = run(frame);
    if (typeof result === "boolean") return { matches: result, cost: frame.cost };
    return { error: failure(result), cost: frame.cost };
  } catch (error) {
    if (error instanceof CostLimitExceeded) {
      return { error: "operation cancelled: actual cost limit exceeded", cost: frame.cost };
    }
    // A string or list beyond what the engine can hold; costs are charged for what comes out, not for trying.
    if (error instanceof RangeError) return { error: `internal error: ${error.message}`, cost: frame.cost };
    throw error;
  }
}

function failure(result: Value): string {
  if (result instanceof CelError) {
    return result.message.includes("no such key: ") ? result.message + hint : result.message;
  }
  const name = typeName(result);
  return `CEL result of type ${name} could not be converted to bool: ${noBool(name)}`;
}

/** How Go words that a value of that type is no bool. */
function noBool(name: string): string {
  switch (name) {
    case "string":
      return "unsupported native conversion from string to 'bool'";
    case "int":
    case "uint":
    case "double":
      return `unsupported type conversion from '${name}' to bool`;
    default:
      return `type conversion error from ${name} to 'bool'`;
  }
}
