import { StatusError } from "@dray/api";

export interface ChaosResult {
  /** Violated invariants; empty if all is well. */
  readonly wrong: readonly string[];
  /** How often what was done, and what was measured. */
  readonly counts: Readonly<Record<string, number>>;
  readonly figures: readonly (readonly [name: string, value: string])[];
}

/** Collects what a run does, measures and finds. */
export class ChaosRecord implements ChaosResult {
  readonly wrong: string[] = [];
  readonly counts: Record<string, number> = {};
  readonly figures: [string, string][] = [];
  readonly #progress: (line: string) => void;

  constructor(progress: (line: string) => void) {
    this.#progress = progress;
  }

  count(what: string): void {
    this.counts[what] = (this.counts[what] ?? 0) + 1;
  }

  complain(problems: readonly string[]): void {
    for (const problem of problems)
      if (!this.wrong.includes(problem)) {
        this.wrong.push(problem);
        this.#progress(`BROKEN: ${problem}`);
      }
  }

  /**
   * Runs what may fail because the server was killed; a missing response is not counted as a fault.
   * Returns undefined if it fails.
   */
  async attempt<T>(act: () => Promise<T>): Promise<T | undefined> {
    try {
      return await act();
    } catch (error) {
      if (error instanceof StatusError && error.code < 500 && error.code !== 429) {
        if (!["NotFound", "Conflict", "AlreadyExists"].includes(`${error.reason}`))
          this.complain([`the server refused a valid request: ${error.message}`]);
      } else this.count("requests without an answer");
      return undefined;
    }
  }
}
