import { type Position, positionText } from "./place.ts";

/** Rules of reading manifests, which `dray lint` includes. */
export type ReadingRule =
  | "unreadable"
  | "syntax"
  | "unserved-version"
  | "unknown-field"
  | "duplicate-key"
  | "wrong-type"
  | "invalid"
  | "invalid-selector"
  | "immutable"
  | "duplicate-object";

/** A problem of the input, as data. */
export interface Problem extends Position {
  readonly rule: ReadingRule;
  /** `Pod default/a`; absent without an object. */
  readonly object?: string;
  /** Path of the field, as the API server writes it. */
  readonly path?: string;
  /** In the API server's words if it has any. */
  readonly message: string;
  /** Suggestions. */
  readonly hints?: readonly string[];
}

/** `Pod default/a: spec.x: what is wrong`; a path that the message names is not repeated. */
export function problemMessage({
  object,
  path,
  message,
}: Pick<Problem, "object" | "path" | "message">): string {
  const shown = path === undefined || message.includes(path) ? [] : [path];
  return [...(object === undefined ? [] : [object]), ...shown, message].join(": ");
}

/** Returns the problem with its position, and a line for each hint. */
export function problemText(problem: Problem): string {
  const hints = (problem.hints ?? []).map((hint) => `\n  hint: ${hint}`);
  return `${positionText(problem)}: ${problemMessage(problem)}${hints.join("")}`;
}

/** Returns the message about an object whose reading has thrown that error, or an error with that message. */
export function unreadableText(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return `cannot be read, and is left out: ${message}; please report it with the object`;
}

/** Maximum number of printed problems. */
const maxProblems = 50;

/** Returns the printed problems, and the number of the others. */
export function problemTexts(problems: readonly Problem[]): string[] {
  const rest = problems.length - maxProblems;
  const more = rest > 0 ? [`and ${rest} more mistakes`] : [];
  return [...problems.slice(0, maxProblems).map(problemText), ...more];
}

/** The input is unusable, and the command had no effect. */
export class InputError extends Error {
  override readonly name = "InputError";
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[]) {
    super(problemTexts(problems).join("\nerror: "));
    this.problems = problems;
  }
}
