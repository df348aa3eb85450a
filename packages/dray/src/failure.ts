import { StatusError } from "@dray/api";
import { CommanderError } from "commander";

/** A mistake in how the command was called: exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** Says on `out` what went wrong, for a person, and answers the exit code: 1 failed, 2 usage. */
export function reportFailure(error: unknown, out: NodeJS.WritableStream): number {
  // Commander has printed what it had to say.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  if (error instanceof UsageError) {
    out.write(`error: ${error.message}\n`);
    return 2;
  }
  if (error instanceof StatusError) {
    // As kubectl words it.
    const reason = error.reason === undefined ? "" : ` (${error.reason})`;
    out.write(`Error from server${reason}: ${error.message}\n`);
    return 1;
  }
  const message = error instanceof Error ? error.message : String(error);
  out.write(`error: ${message}\n`);
  if (process.env["DRAY_DEBUG"] !== undefined && error instanceof Error) out.write(`${error.stack}\n`);
  return 1;
}
