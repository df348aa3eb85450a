import { StatusError } from "@dray/api";
import { CommanderError } from "commander";
import { wrapText } from "../text/wrap.ts";
import { lineWidth } from "./print-text.ts";
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

/** The user lacks the rights to list the objects that an answer needs: exit code 2. */
export class NoRightsError extends Error {
  override readonly name = "NoRightsError";
}

type ErrorOutput = NodeJS.WritableStream & Parameters<typeof lineWidth>[0];

/**
 * Reports an error to a person on `out`, and returns the exit code: 1 failed, 2 usage or no rights. `command`
 * is the one that ran: `dray cel check`.
 */
export function reportFailure(error: unknown, out: ErrorOutput, command: string): number {
  const print = (text: string): void => void out.write(wrapText(text, lineWidth(out)));
  // Commander has printed the help, or the version.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  if (error instanceof UsageError) {
    print(`error: ${error.message}\nSee \`${error.command ?? command} --help\`.\n`);
    return 2;
  }
  if (error instanceof NoRightsError) {
    print(`error: ${error.message}\n`);
    return 2;
  }
  if (error instanceof StatusError) {
    // In kubectl's words.
    const reason = error.reason === undefined ? "" : ` (${error.reason})`;
    print(`Error from server${reason}: ${error.message}\n`);
    return 1;
  }
  const message = error instanceof Error ? error.message : String(error);
  print(`error: ${message}\n`);
  if (verbosity() > 0) for (const cause of causes(error)) print(`  because of: ${cause.message}\n`);
  if (verbosity() > 1 && error instanceof Error) print(`${error.stack}\n`);
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
