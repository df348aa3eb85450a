import { type Position, positionText } from "./place.ts";

/** Rules for manifests on their own; the rules of `dray lint` have these among them. */
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

/** A mistake in the input, as data. */
export interface Problem extends Position {
  readonly rule: ReadingRule;
  /** `Pod default/a`; absent where there is no object. */
  readonly object?: string;
  /** Path of the field, as the API server writes it. */
  readonly path?: string;
  /** In the API server's words where it has any. */
  readonly message: string;
  /** Suggestion and advice. */
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

/** The problem with its position, and a line for each hint. */
export function problemText(problem: Problem): string {
  const hints = (problem.hints ?? []).map((hint) => `\n  hint: ${hint}`);
  return `${positionText(problem)}: ${problemMessage(problem)}${hints.join("")}`;
}

/** Maximum number of problems that a person is shown. */
const maxProblems = 50;

/** The problems as a person sees them, and how many more there are. */
export function problemTexts(problems: readonly Problem[]): string[] {
  const rest = problems.length - maxProblems;
  const more = rest > 0 ? [`and ${rest} more mistakes`] : [];
  return [...problems.slice(0, maxProblems).map(problemText), ...more];
}

/** Input that cannot be used at all. Nothing has been done. */
export class InputError extends Error {
  override readonly name = "InputError";
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[]) {
    super(problemTexts(problems).join("\nerror: "));
    this.problems = problems;
  }
}
