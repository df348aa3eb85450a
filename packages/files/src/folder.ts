import { mkdirSync, statSync } from "node:fs";
import { mkdir, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";

/** Permission bits of folders that name none, from which the umask takes some. */
const defaultMode = 0o777;

/**
 * Makes a folder and those that are missing above it, as `mkdir -p` does; the umask applies to `mode`.
 * Returns the first one made, or undefined if the folder was there. The error is the system's.
 *
 * Stands in for `mkdir` with `recursive`, which never returns where the system says ENOENT of a folder whose
 * parent exists, as Linux does in /proc.
 */
export function makeFolderSync(path: string, mode = defaultMode): string | undefined {
  try {
    mkdirSync(path, { mode });
    return path;
  } catch (error) {
    const parent = parentToMake(path, error);
    if (parent === undefined) {
      if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return undefined;
      throw error;
    }
    const first = makeFolderSync(parent, mode);
    try {
      mkdirSync(path, { mode });
    } catch (again) {
      // Another process was faster.
      if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return first;
      throw again;
    }
    return first ?? path;
  }
}

/** `makeFolderSync` for callers that may yield. */
export async function makeFolder(path: string, mode = defaultMode): Promise<string | undefined> {
  try {
    await mkdir(path, { mode });
    return path;
  } catch (error) {
    const parent = parentToMake(path, error);
    if (parent === undefined) {
      if (await isFolder(path)) return undefined;
      throw error;
    }
    const first = await makeFolder(parent, mode);
    try {
      await mkdir(path, { mode });
    } catch (again) {
      if (await isFolder(path)) return first;
      throw again;
    }
    return first ?? path;
  }
}

/** The folder above `path`, if `error` says that it may be missing. */
function parentToMake(path: string, error: unknown): string | undefined {
  const parent = dirname(resolve(path));
  return (error as NodeJS.ErrnoException).code === "ENOENT" && parent !== resolve(path) ? parent : undefined;
}

async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}
