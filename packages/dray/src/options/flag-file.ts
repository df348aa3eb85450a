import { readFileSync } from "node:fs";
import { UsageError } from "../terminal/failure.ts";

const reasons: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file",
  EISDIR: "must be a file, and is a folder",
  EACCES: "cannot be read: permission denied",
};

/** Reads the file of a flag. Throws a UsageError with flag, file and reason if that fails. */
export function readFlagFile(flag: string, file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    const { code = "", message } = error as NodeJS.ErrnoException;
    throw new UsageError(`${flag} ${file}: ${reasons[code] ?? `cannot be read: ${message}`}`);
  }
}
