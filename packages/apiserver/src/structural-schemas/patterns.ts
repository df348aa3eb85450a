import { compilePattern, type Pattern, patternWork } from "@dray/cel";
import type { Schema } from "./schema.ts";

/** Compiled patterns of schemas; undefined for an invalid pattern. */
const compiled = new WeakMap<Schema, Pattern | undefined>();

/** Maximum work of the patterns for one object, in units of `patternWork`: less than a second. */
const maxWork = 5_000_000;

/**
 * Bounds the work of the patterns for one object. Upstream has no such limit: there a request takes one
 * processor until it is done.
 */
export class PatternBudget {
  #spent = 0;

  /** Returns false if the budget is exceeded. */
  spend(work: number): boolean {
    this.#spent += work;
    return this.#spent <= maxWork;
  }
}

/**
 * Reports whether a text matches the pattern of a schema; undefined if that takes too long. An invalid
 * pattern matches nothing.
 */
export function matchesPattern(schema: Schema, text: string, budget: PatternBudget): boolean | undefined {
  if (!compiled.has(schema)) {
    const result = compilePattern(schema.pattern ?? "");
    compiled.set(schema, typeof result === "string" ? undefined : result);
  }
  const pattern = compiled.get(schema);
  if (pattern === undefined) return false;
  return budget.spend(patternWork(pattern, text)) ? pattern.test(text) : undefined;
}
