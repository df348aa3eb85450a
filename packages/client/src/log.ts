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
