// biome-ignore lint/style/noRestrictedImports: it moves whole files, and writes none.
import { closeSync, copyFileSync, fstatSync, ftruncateSync, openSync, renameSync, rmSync } from "node:fs";

/**
 * Bounds of one log: as the kubelet's defaults for container logs (containerLogMaxSize 10Mi,
 * containerLogMaxFiles 5).
 */
export interface LogLimits {
  /** Bytes of the file that is being written. */
  readonly maxSize: number;
  /** Former files that are kept: `NAME.log.1` is the newest. */
  readonly maxOldFiles: number;
}

export const defaultLimits: LogLimits = { maxSize: 10 * 2 ** 20, maxOldFiles: 4 };

/**
 * Renames `path` to `path.1`, `path.1` to `path.2` and so on, over the oldest. Missing files are passed over.
 */
export function shiftFiles(path: string, limits: LogLimits): void {
  shiftOldFiles(path, limits);
  renameIfPresent(path, `${path}.1`);
}

/** The same for the old files alone, so that `path.1` is free. */
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
 * As `shiftFiles`, for a file that processes hold open to append to it, such as the standard error of a
 * detached cluster: its content is copied away, and the file begins anew. Does nothing to a file within its
 * limit. Where there is no room for the copy, the content goes: the limit holds. Throws if the file cannot be
 * opened or truncated.
 */
export function rotateInPlace(path: string, limits: LogLimits = defaultLimits): void {
  const descriptor = openSync(path, "r+");
  try {
    if (fstatSync(descriptor).size <= limits.maxSize) return;
    const copy = `${path}.copy`;
    try {
      copyFileSync(path, copy);
      // From here on only names change.
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
