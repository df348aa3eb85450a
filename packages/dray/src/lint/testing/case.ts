import type { RuleId } from "../rules.ts";
import type { LintTextOptions } from "./lint-text.ts";

/** A text with one mistake. */
export interface Case extends LintTextOptions {
  readonly text: string;
  /** Line and path of the finding. */
  readonly at: readonly [line: number | undefined, path: string | undefined];
  readonly says: RegExp;
  /** Further findings. */
  readonly and?: readonly RuleId[];
}

export type Cases = Partial<Record<RuleId, readonly Case[]>>;
