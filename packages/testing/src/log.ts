import type { Log } from "@dray/client";

export interface ProblemLog {
  readonly log: Log;
  /** The warnings and errors so far, each as text with its fields and the stack of its error. */
  readonly problems: string[];
}

/** A log that keeps warnings and errors; most tests expect none. */
export function problemLog(): ProblemLog {
  const problems: string[] = [];
  const keep = (fields: object, message: string): void => {
    const { err, ...rest } = fields as { err?: unknown };
    problems.push(`${message} ${JSON.stringify(rest)} ${err instanceof Error ? err.stack : ""}`);
  };
  const ignore = (): void => {};
  return { log: { debug: ignore, info: ignore, warn: keep, error: keep }, problems };
}

export interface FaultLog {
  readonly log: Log;
  /** The exceptions so far, each once, with the message of the log and the stack. */
  readonly faults: ReadonlyMap<string, string>;
}

/**
 * A log that keeps the exceptions that say that an object could not be read, at any level. Errors that a
 * reconciler raises on purpose are about its own object; a handler sees all of them.
 */
export function faultLog(): FaultLog {
  const faults = new Map<string, string>();
  const look = (fields: object, message: string): void => {
    const { err } = fields as { readonly err?: unknown };
    const isFault = [TypeError, RangeError, ReferenceError, SyntaxError].some((type) => err instanceof type);
    if (!(err instanceof Error) || !(isFault || /^an informer's|could not be handled/.test(message))) return;
    const { stack = "" } = err;
    const at = stack.split("\n").find((line) => line.includes("/src/")) ?? "";
    faults.set(`${err.message}${at}`, `${message}: ${stack}`);
  };
  return { log: { debug: look, info: look, warn: look, error: look }, faults };
}
