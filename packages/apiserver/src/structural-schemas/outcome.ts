import type { FieldErrors } from "@dray/api/validation";
import { enumTexts } from "./enumeration.ts";
import { child } from "./schema.ts";

/** Which form of field error one becomes. */
type Sort = "required" | "enum" | "long" | "many" | "type" | "other" | "general";

/** What one check found wrong. */
export interface Problem {
  readonly sort: Sort;
  /** The path of the value, as messages have it. */
  readonly path: string;
  readonly value?: unknown;
  readonly message: string;
  readonly limit?: number;
  readonly allowed?: readonly unknown[];
}

/** What is wrong with a value, and how many checks it passed: of alternatives the nearest one is reported. */
export class Outcome {
  /** By their messages: what is said once is not said again. Most values have none. */
  #problems: Map<string, Problem> | undefined;
  matches = 0;

  get problems(): Iterable<Problem> {
    return this.#problems?.values() ?? [];
  }

  add(problem: Problem): void {
    this.#problems ??= new Map();
    if (!this.#problems.has(problem.message)) this.#problems.set(problem.message, problem);
  }

  merge(other: Outcome): void {
    // Nobody looks into an outcome that has been merged: its problems need not be copied at each level.
    if (this.#problems === undefined) this.#problems = other.#problems;
    else for (const problem of other.problems) this.add(problem);
    this.matches += other.matches;
  }

  get valid(): boolean {
    return this.#problems === undefined;
  }
}

/** Adds a problem to field errors; `base` is the path of the whole value. */
export function report(errors: FieldErrors, base: string, problem: Problem): void {
  const own = problem.path.replace(/^\./, "");
  const path = own === "" ? base : child(base, own);
  const { sort, value, message, limit = -1 } = problem;
  switch (sort) {
    case "required":
      errors.required(path);
      break;
    case "enum":
      errors.notSupported(path, value, enumTexts(problem.allowed ?? []));
      break;
    case "long":
      errors.tooLong(path, limit);
      break;
    case "many":
      errors.tooMany(path, Number(value), limit);
      break;
    case "type":
      errors.typeInvalid(path, value ?? "", message);
      break;
    case "other":
      errors.invalid(path, value ?? "", message);
      break;
    case "general":
      // Upstream knows no path here.
      errors.invalid(base === "" ? "<nil>" : base, "", message);
  }
}
