import { readFileSync } from "node:fs";
import { parse } from "yaml";
import type { Case, Difference } from "./format.ts";
import { rules } from "./rules.ts";

/** The differences that are allowed, each with its reason (`known-differences.yaml`). */
export class KnownDifferences {
  readonly #cases: ReadonlyMap<string, string>;
  readonly #rules: ReadonlyMap<string, string>;
  readonly #met = new Set<string>();

  /**
   * Throws where the file names a rule that there is not. `live`: questions are random, so that its rules
   * hold too.
   */
  constructor(text: string, live = false) {
    const sections = (parse(text) ?? {}) as Record<"cases" | "rules" | "live", Record<string, string> | null>;
    this.#cases = new Map(Object.entries(sections.cases ?? {}));
    this.#rules = new Map(Object.entries({ ...sections.rules, ...(live ? sections.live : {}) }));
    const unknown = [...this.#rules.keys()].find((name) => rules[name] === undefined);
    if (unknown !== undefined) {
      throw new Error(`known-differences.yaml: rules.${unknown}: there are ${Object.keys(rules).join(", ")}`);
    }
  }

  static read(live = false): KnownDifferences {
    const text = readFileSync(new URL("known-differences.yaml", import.meta.url), "utf8");
    return new KnownDifferences(text, live);
  }

  /** Why the case may differ, if it is listed by its id. */
  ofCase(id: string): string | undefined {
    const reason = this.#cases.get(id);
    if (reason !== undefined) this.#met.add(id);
    return reason;
  }

  /** Why these differences are allowed: every one by some rule; undefined if one is not. */
  ofRules(question: Case, differences: readonly Difference[]): string | undefined {
    const reasons = differences.map((difference) => {
      for (const [name, reason] of this.#rules) {
        if (!rules[name]!(question, difference)) continue;
        this.#met.add(name);
        return reason;
      }
      return undefined;
    });
    return reasons.includes(undefined) ? undefined : reasons[0];
  }

  /** Entries that no case has met: after a run over all the data they are out of date. */
  get unmet(): string[] {
    return [...this.#cases.keys(), ...this.#rules.keys()].filter((name) => !this.#met.has(name));
  }
}
