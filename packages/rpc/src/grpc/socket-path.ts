import { closeSync, constants, openSync } from "node:fs";
import { lstat, unlink } from "node:fs/promises";

/** A path of `sockaddr_un` ends at 108 bytes, of which the last is zero. */
export const maxSocketPathBytes = 107;

/** Throws if the system would refuse, or worse cut off, this path of a socket. */
export function checkSocketPath(path: string): void {
  const bytes = Buffer.byteLength(path);
  if (bytes > maxSocketPathBytes) {
    throw new Error(
      `socket path ${path} has ${bytes} bytes, at most ${maxSocketPathBytes} are possible: choose a shorter folder or name`,
    );
  }
  if (!path.startsWith("/")) throw new Error(`socket path ${path} must be absolute`);
}

/** Maximum length of `/proc/self/fd/N/`, in bytes. */
const folderLinkBytes = 24;

/**
 * Where to divide a path that is too long, so that the rest is short enough behind the link of an open
 * folder.
 */
function divided(path: string): { readonly folder: string; readonly rest: string } | undefined {
  if (process.platform !== "linux" || !path.startsWith("/")) return undefined;
  for (let slash = path.indexOf("/", 1); slash > 0; slash = path.indexOf("/", slash + 1)) {
    const rest = path.slice(slash + 1);
    if (folderLinkBytes + Buffer.byteLength(rest) <= maxSocketPathBytes)
      return { folder: path.slice(0, slash), rest };
  }
  return undefined;
}

/**
 * Throws if no client can connect to this path; on Linux they reach longer ones than a server can listen on.
 */
export function checkReachableSocketPath(path: string): void {
  if (divided(path) === undefined) checkSocketPath(path);
}

/**
 * A path to connect to the same socket that the system accepts. A server in a mount name space listens on
 * paths that are longer outside: such a one is reached through a folder above it, which stays open until
 * `close`. Throws for a path that cannot be reached, or whose folder is missing.
 */
export function openSocketPath(path: string): { readonly path: string; close(): void } {
  const parts = Buffer.byteLength(path) > maxSocketPathBytes ? divided(path) : undefined;
  if (parts === undefined) {
    checkSocketPath(path);
    return { path, close() {} };
  }
  const folder = openSync(parts.folder, constants.O_RDONLY | constants.O_DIRECTORY);
  let open = true;
  return {
    path: `/proc/self/fd/${folder}/${parts.rest}`,
    close() {
      if (open) closeSync(folder);
      open = false;
    },
  };
}

/** Removes what a killed server left at `path`. Throws if something other than a socket is there. */
export async function removeStaleSocket(path: string): Promise<void> {
  try {
    if (!(await lstat(path)).isSocket()) throw new Error(`${path} exists and is not a socket`);
    await unlink(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}
