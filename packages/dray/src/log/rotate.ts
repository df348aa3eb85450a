// biome-ignore lint/style/noRestrictedImports: it moves whole files, and writes none.
import { closeSync, copyFileSync, fstatSync, ftruncateSync, openSync, renameSync, rmSync } from "node:fs";

/**
 * Limits of one log: the kubelet's defaults for container logs (containerLogMaxSize 10Mi,
 * containerLogMaxFiles 5).
 */
export interface LogLimits {
  /** Maximum size of the current file, in bytes. */
  readonly maxSize: number;
  /** Maximum number of old files: `NAME.log.1` is the newest. */
  readonly maxOldFiles: number;
}

export const defaultLimits: LogLimits = { maxSize: 10 * 2 ** 20, maxOldFiles: 4 };

/** Renames `path` to `path.1`, `path.1` to `path.2` and so on, replacing the oldest. Skips missing files. */
export function shiftFiles(path: string, limits: LogLimits): void {
  shiftOldFiles(path, limits);
  renameIfPresent(path, `${path}.1`);
}

/** Renames only old files, so that `path.1` is free. */
function shiftOldFiles(path: string, { maxOldFiles }: LogLimits): void {
  for (let number = maxOldFiles; number > 1; number--) {
    renameIfPresent(`${path}.${number - 1}`, `${path}.${number}`);
  }
}

function renameIfPresent(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}

/**
 * Rotates a file that processes hold open to append to it, such as the standard error of a detached cluster:
 * copies its content, then truncates it. Does nothing to a file within its limit. Without room for the copy
 * the content is lost, but the limit holds. Throws if the file cannot be opened or truncated.
 */
export function rotateInPlace(path: string, limits: LogLimits = defaultLimits): void {
  const descriptor = openSync(path, "r+");
  try {
    if (fstatSync(descriptor).size <= limits.maxSize) return;
    const copy = `${path}.copy`;
    try {
      copyFileSync(path, copy);
      // From here on files are only renamed.
      shiftOldFiles(path, limits);
      renameSync(copy, `${path}.1`);
    } catch {
      rmSync(copy, { force: true });
    }
    ftruncateSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
