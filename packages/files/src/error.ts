/**
 * Returns a system error with the action in front of its text, and its `code`. The text may lack the path
 * otherwise.
 */
export function withPath(what: string, cause: unknown): Error {
  const { message, code } = cause as NodeJS.ErrnoException;
  const error: NodeJS.ErrnoException = new Error(`${what}: ${message}`, { cause });
  if (code !== undefined) error.code = code;
  return error;
}
