import type { Features } from "../features.ts";
import type { Labels } from "../selectors/index.ts";

/** What compiling a device selector gives; `@dray/cel` answers in this form. */
export type CompiledSelector =
  | { readonly ok: true; readonly maxCost: number | bigint }
  | { readonly ok: false; readonly error: string; readonly type: "RuleInvalid" | "InternalError" };

/** What validation needs to know beside the object. */
export interface ValidationContext {
  readonly features: Features;
  /** Compiles a CEL device selector as a new expression; the compiler is injected because it lies on a higher floor. */
  compileSelector(expression: string): CompiledSelector;
  /** Labels of the object's namespace: claims with admin access need one. */
  readonly namespaceLabels?: Labels | undefined;
}
