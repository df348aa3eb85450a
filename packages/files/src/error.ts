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

const problems: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file",
  EISDIR: "must be a file, and is a folder",
  EACCES: "cannot be read: permission denied",
};

/** Returns the reason of a failed read, for a text that begins with its path: "there is no such file". */
export function readProblem(cause: unknown): string {
  const { code = "", message } = cause as NodeJS.ErrnoException;
  return problems[code] ?? `cannot be read: ${message}`;
}
