import { StatusError } from "@dray/api";
import { CommanderError } from "commander";
import { verbosity } from "./verbosity.ts";

/** A usage error: exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
  /** The command whose help has the details: `dray cel check`; undefined: the running one. */
  readonly command: string | undefined;

  constructor(message: string, command?: string) {
    super(message);
    this.command = command;
  }
}

/**
 * Reports an error to a person on `out`, and returns the exit code: 1 failed, 2 usage. `command` is the one
 * that ran: `dray cel check`.
 */
export function reportFailure(error: unknown, out: NodeJS.WritableStream, command: string): number {
  // Commander has printed the help, or the version.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  if (error instanceof UsageError) {
    out.write(`error: ${error.message}\nSee \`${error.command ?? command} --help\`.\n`);
    return 2;
  }
  if (error instanceof StatusError) {
    // In kubectl's words.
    const reason = error.reason === undefined ? "" : ` (${error.reason})`;
    out.write(`Error from server${reason}: ${error.message}\n`);
    return 1;
  }
  const message = error instanceof Error ? error.message : String(error);
  out.write(`error: ${message}\n`);
  if (verbosity() > 0) for (const cause of causes(error)) out.write(`  because of: ${cause.message}\n`);
  if (verbosity() > 1 && error instanceof Error) out.write(`${error.stack}\n`);
  return 1;
}

/** Maximum number of reported causes, which could be cyclic. */
const maxCauses = 10;

function causes(error: unknown): Error[] {
  const found: Error[] = [];
  let cause = (error as { cause?: unknown } | undefined)?.cause;
  while (cause instanceof Error && found.length < maxCauses) {
    found.push(cause);
    cause = cause.cause;
  }
  return found;
}
