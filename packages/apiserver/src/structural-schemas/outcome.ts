import type { FieldErrors } from "@dray/api/validation";
import { enumTexts } from "./enumeration.ts";

/** The kind of field error that a problem becomes. */
type ProblemKind = "required" | "enum" | "long" | "many" | "type" | "other" | "general";

/** One violation. */
export interface Problem {
  readonly kind: ProblemKind;
  /** The path of the value, as printed in messages. */
  readonly path: string;
  readonly value?: unknown;
  readonly message: string;
  readonly limit?: number;
  readonly allowed?: readonly unknown[];
}

/**
 * The violations of a value, and the number of passed checks: of several alternatives, the best match is
 * reported.
 */
export class Outcome {
  /** By message, without duplicates. Absent for most values. */
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
    // A merged outcome is not used again: its problems need not be copied at each level.
    if (this.#problems === undefined) this.#problems = other.#problems;
    else for (const problem of other.problems) this.add(problem);
    this.matches += other.matches;
  }

  get valid(): boolean {
    return this.#problems === undefined;
  }
}

/** Adds a problem to field errors; `errors` is the scope of the root value. */
export function report(errors: FieldErrors, problem: Problem): void {
  const own = problem.path.replace(/^\./, "");
  const here = own === "" ? errors : errors.at(own);
  const { kind, value, message, limit = -1 } = problem;
  switch (kind) {
    case "required":
      here.required();
      break;
    case "enum":
      here.notSupported(value, enumTexts(problem.allowed ?? []));
      break;
    case "long":
      here.tooLong(limit);
      break;
    case "many":
      here.tooMany(Number(value), limit);
      break;
    case "type":
      here.typeInvalid(value ?? "", message);
      break;
    case "other":
      here.invalid(value ?? "", message);
      break;
    case "general":
      // Upstream has no path here.
      (errors.path === "" ? errors.at("<nil>") : errors).invalid("", message);
  }
}
