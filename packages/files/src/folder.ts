import { mkdirSync, statSync } from "node:fs";
import { mkdir, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";

/** Default permission bits of folders, before the umask. */
const defaultMode = 0o777;

/**
 * Makes a folder and its missing parents, as `mkdir -p` does; the umask applies to `mode`. Returns the first
 * folder made, or undefined if the folder existed. Throws the system's error.
 *
 * Replaces `mkdir` with `recursive`, which never returns if the system reports ENOENT for a folder whose
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
      // Another process has made it meanwhile.
      if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return first;
      throw again;
    }
    return first ?? path;
  }
}

/** Asynchronous `makeFolderSync`. */
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

/** Returns the parent of `path` if `error` says that it may be missing. */
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
