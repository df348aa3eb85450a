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

/** Removes what a killed server left at `path`. Throws if something other than a socket is there. */
export async function removeStaleSocket(path: string): Promise<void> {
  try {
    if (!(await lstat(path)).isSocket()) throw new Error(`${path} exists and is not a socket`);
    await unlink(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
}
