import { createRequire } from "node:module";
import type { Log } from "@dray/client";
import { UsageError } from "./failure.ts";

const levels = ["debug", "info", "warn", "error"] as const;

/** Longest chain of causes that is shown. */
const mostCauses = 5;

/** What a log shows of an error. pino's own serializer marks what it has seen, and errors of the API are frozen. */
function describeError(error: unknown, depth = 0): unknown {
  if (!(error instanceof Error)) return error;
  const { reason, code, status } = error as {
    reason?: unknown;
    code?: unknown;
    status?: { details?: unknown };
  };
  return {
    type: error.name,
    message: error.message,
    ...(reason === undefined ? {} : { reason }),
    ...(code === undefined ? {} : { code }),
    ...(status?.details === undefined ? {} : { details: status.details }),
    stack: error.stack,
    ...(error.cause === undefined || depth === mostCauses
      ? {}
      : { cause: describeError(error.cause, depth + 1) }),
  };
}

const serializers = {
  err: (error: unknown) => describeError(error),
  error: (error: unknown) => describeError(error),
};

/** JSON lines on `file` (standard error if absent); `DRAY_LOG_LEVEL` is debug, info, warn or error (default: info). */
export function createLog(component: string, file?: string): Log {
  const wanted = process.env["DRAY_LOG_LEVEL"] ?? "info";
  const level = levels.find((each) => each === wanted);
  if (level === undefined)
    throw new UsageError(`DRAY_LOG_LEVEL ${wanted}: must be one of ${levels.join(", ")}`);
  const open = (): Log => {
    const { pino } = createRequire(import.meta.url)("pino") as typeof import("pino");
    const destination = pino.destination(
      file === undefined ? { dest: 2, sync: true } : { dest: file, sync: true, mkdir: true },
    );
    return pino({ level, base: { component }, serializers }, destination);
  };
  // A file that cannot be written is told at once.
  return file === undefined ? openedByFirstLine(level, open) : open();
}

/** pino takes longer to load than many a program runs that has nothing to log. */
function openedByFirstLine(level: (typeof levels)[number], open: () => Log): Log {
  let log: Log | undefined;
  const method = (name: (typeof levels)[number]): Log["info"] => {
    if (levels.indexOf(name) < levels.indexOf(level)) return () => {};
    return (fields, message) => {
      log ??= open();
      log[name](fields, message);
    };
  };
  return { debug: method("debug"), info: method("info"), warn: method("warn"), error: method("error") };
}
