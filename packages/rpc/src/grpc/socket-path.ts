import { closeSync, constants, openSync } from "node:fs";
import { lstat, unlink } from "node:fs/promises";

/** `sockaddr_un` holds 108 bytes, the last of which is zero. */
export const maxSocketPathBytes = 107;

/** Throws for a socket path that the system would reject or truncate. */
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

/** Splits a path that is too long, so that the rest fits behind the link of an open folder. */
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
 * Throws if clients cannot connect to this path. On Linux they reach longer paths than a server can listen
 * on.
 */
export function checkReachableSocketPath(path: string): void {
  if (divided(path) === undefined) checkSocketPath(path);
}

/**
 * Returns a path to the same socket that is short enough for the system. The path of a socket in a mount
 * namespace is longer outside: it is reached through a folder above it, which stays open until `close`.
 * Throws for an unreachable path or a missing folder.
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

/** Removes the socket of a killed server at `path`. Throws if the file is not a socket. */
export async function removeStaleSocket(path: string): Promise<void> {
  try {
    if (!(await lstat(path)).isSocket()) throw new Error(`${path} exists and is not a socket`);
    await unlink(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}
