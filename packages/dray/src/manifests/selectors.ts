import type { Features } from "@dray/api";
import type { CompiledSelector } from "@dray/api/validation";
import { deviceSelectors } from "@dray/apiserver/objects";
import { deviceEnvironment } from "@dray/cel";

/** What the compiler of selectors may say beside its answer. */
type Remarks = { readonly warnings?: readonly string[]; readonly hints?: readonly string[] };

export interface SelectorCompiler {
  compile(expression: string): CompiledSelector;
  /** What was probably meant by the expressions that did not compile. */
  hints(): readonly string[];
}

/** Compiles the selectors of the objects of a plan, and notes what is odd about those that compile. */
export class Selectors {
  readonly #fresh: (expression: string) => CompiledSelector;
  readonly #stored: (expression: string) => CompiledSelector;
  /** `place: warning`, each once. */
  readonly warnings = new Set<string>();

  constructor(features: Features) {
    this.#fresh = deviceSelectors(features);
    const stored = deviceEnvironment({ stored: true });
    this.#stored = (expression) => stored.compile(expression);
  }

  /** For the expressions of one object; those that a server has stored may use everything. */
  compiler(stored: boolean, place: string): SelectorCompiler {
    const hints = new Set<string>();
    return {
      compile: (expression) => {
        const result = stored ? this.#stored(expression) : this.#fresh(expression);
        const remarks = result as CompiledSelector & Remarks;
        for (const hint of remarks.hints ?? []) hints.add(hint);
        for (const warning of remarks.warnings ?? [])
          this.warnings.add(`${place}: selector ${JSON.stringify(expression)}: ${warning}`);
        return result;
      },
      hints: () => [...hints],
    };
  }
}
