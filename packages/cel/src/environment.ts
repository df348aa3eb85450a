import type { DeviceAttribute, DeviceCapacity } from "@dray/api/resource/v1";

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
  evaluate(device: DeviceInput): Evaluation;
}

/** The environment of device selectors (KEP-4381). Compilations are cached by text. */
export interface DeviceEnvironment {
  compile(expression: string): Selector | CompileFailure;
}

/** Highest cost of one selector, estimated and spent (resource.k8s.io CELSelectorExpressionMaxCost). */
export const costLimit = 1_000_000;
/** Longest selector in bytes (CELSelectorExpressionMaxLength). */
export const lengthLimit = 10 * 1024;
