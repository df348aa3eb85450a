/** Structured logging in the shape of pino, so that a component needs no logging library of its own. */
export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  /** Lines that could not be written so far, such as on a full disk; absent where nobody counts. */
  readonly droppedLines?: number;
}

const nothing = (): void => {};
/** For tests, and for callers who do not care. */
export const silentLog: Log = { debug: nothing, info: nothing, warn: nothing, error: nothing };

/** A log whose lines have these fields too; those of a line count more. */
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
