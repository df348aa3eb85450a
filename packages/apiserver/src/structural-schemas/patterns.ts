import { compilePattern, type Pattern } from "@dray/cel";
import type { Schema } from "./schema.ts";

/** Compiled patterns of schemas; undefined for an invalid pattern. */
const compiled = new WeakMap<Schema, Pattern | undefined>();

/** Reports whether a text matches the pattern of a schema. An invalid pattern matches nothing. */
export function matchesPattern(schema: Schema, pattern: string, text: string): boolean {
  if (!compiled.has(schema)) {
    const result = compilePattern(pattern);
    compiled.set(schema, typeof result === "string" ? undefined : result);
  }
  return compiled.get(schema)?.test(text) === true;
}
