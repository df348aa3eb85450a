import type { Provenance } from "../codec/provenance.ts";
import type { Features } from "../features/features.ts";
import type { Labels } from "../selectors/index.ts";
import type { Step } from "./step.ts";

/** Result of compiling a device selector, as `@dray/cel` returns it. */
export type CompiledSelector =
  | { readonly ok: true; readonly maxCost: number | bigint }
  | { readonly ok: false; readonly error: string; readonly type: "RuleInvalid" | "InternalError" };

type CompiledExpression = { readonly ok: true } | Extract<CompiledSelector, { readonly ok: false }>;

/** Compiles the expressions of one admission policy or webhook as new ones, and keeps the variables. */
export interface AdmissionExpressions {
  compile(
    expression: string,
    options: {
      /** Required type of the result: `object` is an `Object`, `patches` a list of `JSONPatch`. */
      readonly result: "bool" | "string" | "string or null" | "object" | "patches";
      /** Whether there is a variable `params`. */
      readonly params: boolean;
      /** Whether there is a variable `authorizer`. */
      readonly authorizer: boolean;
      /** Whether the types `Object` and `JSONPatch` exist. */
      readonly patchTypes?: boolean;
    },
  ): CompiledExpression;
  /** An expression under a name, by which later ones can use it. */
  variable(name: string, expression: string, options: { readonly params: boolean }): CompiledExpression;
}

/** Input of validation besides the object. */
export interface ValidationContext {
  readonly features: Features;
  /** Provenance of the object; absent if it did not come over the wire. */
  readonly provenance?: Provenance | undefined;
  /** The API group of the request if it is not the object's own: events have two. */
  readonly requestGroup?: string;
  /**
   * Compiles a CEL device selector, or the expression of a derived attribute (KEP-5491), as a new one; the
   * compiler is injected because it lies on a higher floor.
   */
  compileSelector(expression: string, derivedAttribute?: boolean): CompiledSelector;
  /**
   * For policies and webhooks; where it is absent their expressions are not looked at. `composes`: there is a
   * variable `variables`.
   */
  admissionExpressions?(options: { readonly composes: boolean }): AdmissionExpressions;
  /**
   * Endpoints may have addresses of 127.0.0.0/8, since nodes of the cluster give their pods such addresses.
   * Upstream rejects them.
   */
  readonly loopbackEndpoints?: boolean | undefined;
  /**
   * Runs the parts that take long: the server may serve others before one, and begins the validation again.
   */
  readonly step?: Step;
  /** Labels of the object's namespace: claims with admin access need one. */
  readonly namespaceLabels?: Labels | undefined;
}
