import type { Features, KubeObject } from "@dray/api";
import type { CompiledSelector } from "@dray/api/validation";
import { deviceSelectors } from "@dray/apiserver/objects";
import { deviceEnvironment } from "@dray/cel";
import { type Place, placeText } from "./place.ts";

/** Hints of the compiler of selectors. */
type Remarks = { readonly warnings?: readonly string[]; readonly hints?: readonly string[] };

export type CompileSelector = (expression: string, derivedAttribute?: boolean) => CompiledSelector & Remarks;

/** Compiles the selectors of objects and collects their warnings. */
export class Selectors {
  readonly #fresh: CompileSelector;
  readonly #stored: CompileSelector;
  readonly #hints = new Map<string, readonly string[]>();
  /** `place: warning`, each once. */
  readonly warnings = new Set<string>();

  constructor(features: Features) {
    this.#fresh = deviceSelectors(features);
    const stored = deviceEnvironment({ stored: true });
    this.#stored = (expression, derivedAttribute = false) =>
      derivedAttribute ? stored.compileAttribute(expression) : stored.compile(expression);
  }

  /** Returns the compiler for the expressions of one object; stored ones may use every feature. */
  compiler(stored: boolean, place: Place): CompileSelector {
    return (expression, derivedAttribute) => {
      const result = (stored ? this.#stored : this.#fresh)(expression, derivedAttribute);
      if (result.hints !== undefined) this.#hints.set(expression, result.hints);
      for (const warning of result.warnings ?? [])
        this.warnings.add(`${placeText(place)}: selector ${JSON.stringify(expression)}: ${warning}`);
      return result;
    };
  }

  /** Returns suggestions for the expression at that path, which did not compile. */
  hintsAt(object: KubeObject, path: string): readonly string[] {
    const expression = valueAt(object, path);
    return (typeof expression === "string" ? this.#hints.get(expression) : undefined) ?? [];
  }
}

/** Returns the value at a path of plain names and indices: `spec.selectors[0].cel.expression`. */
export function valueAt(object: unknown, path: string): unknown {
  let value = object;
  for (const [, name, index] of path.matchAll(/([^.[\]]+)|\[(\d+)\]/g)) {
    if (typeof value !== "object" || value === null) return undefined;
    value = (value as Record<string, unknown>)[name ?? index ?? ""];
  }
  return value;
}
