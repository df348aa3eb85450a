/**
 * Structured logging with the interface of pino, so that a component does not depend on a logging library.
 */
export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  /** Number of lines that could not be written, for example on a full disk; absent if that is not counted. */
  readonly droppedLines?: number;
}

const ignore = (): void => {};
/** Discards all lines. */
export const silentLog: Log = { debug: ignore, info: ignore, warn: ignore, error: ignore };

/** Adds fields to all lines of a log; a field of a line takes precedence. */
export function withFields(log: Log, bound: object): Log {
  return {
    debug: (fields, message) => log.debug({ ...bound, ...fields }, message),
    info: (fields, message) => log.info({ ...bound, ...fields }, message),
    warn: (fields, message) => log.warn({ ...bound, ...fields }, message),
    error: (fields, message) => log.error({ ...bound, ...fields }, message),
    get droppedLines() {
      return log.droppedLines ?? 0;
    },
  };
}
