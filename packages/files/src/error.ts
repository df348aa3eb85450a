/**
 * An error of the system with what was being done in front, and its `code`. Its own text may not name the
 * path.
 */
export function withPath(what: string, cause: unknown): Error {
  const { message, code } = cause as NodeJS.ErrnoException;
  const error: NodeJS.ErrnoException = new Error(`${what}: ${message}`, { cause });
  if (code !== undefined) error.code = code;
  return error;
}
