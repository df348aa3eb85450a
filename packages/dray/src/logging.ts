import type { Log } from "@dray/client";
import { pino } from "pino";
import { UsageError } from "./failure.ts";

const levels = ["debug", "info", "warn", "error"];

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
  const level = process.env["DRAY_LOG_LEVEL"] ?? "info";
  if (!levels.includes(level))
    throw new UsageError(`DRAY_LOG_LEVEL ${level}: must be one of ${levels.join(", ")}`);
  const destination = pino.destination(
    file === undefined ? { dest: 2, sync: true } : { dest: file, sync: true, mkdir: true },
  );
  return pino({ level, base: { component }, serializers }, destination);
}
