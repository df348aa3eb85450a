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
