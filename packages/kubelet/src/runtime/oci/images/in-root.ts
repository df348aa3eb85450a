import { constants } from "node:fs";
import { lstat, open, readlink } from "node:fs/promises";
import { join } from "node:path";

/** Maximum number of symbolic links in one path, as in Linux. */
const maxLinks = 40;

/**
 * Resolves a path in a root file system to a path on the machine without links. Follows symbolic links as a
 * process in the root would: an absolute one begins at the root, and `..` does not leave it. Missing parts
 * stay as they are. The root must not change meanwhile.
 */
export async function resolveInRoot(root: string, path: string): Promise<string> {
  let parts = path.split("/");
  let resolved: string[] = [];
  let links = 0;
  for (let part = parts.shift(); part !== undefined; part = parts.shift()) {
    if (part === "" || part === ".") continue;
    if (part === "..") {
      resolved = resolved.slice(0, -1);
      continue;
    }
    const target = await readlink(join(root, ...resolved, part)).catch((error: NodeJS.ErrnoException) => {
      if (error.code === "EINVAL" || error.code === "ENOENT" || error.code === "ENOTDIR") return undefined;
      throw error;
    });
    if (target === undefined) {
      resolved.push(part);
      continue;
    }
    if (++links > maxLinks) throw new Error(`${path}: too many symbolic links in the image`);
    if (target.startsWith("/")) resolved = [];
    parts = [...target.split("/"), ...parts];
  }
  return join(root, ...resolved);
}

/**
 * Reads a small regular file in a root file system; undefined if it does not exist. Throws if it is larger
 * than `maxBytes`.
 */
export async function readInRoot(root: string, path: string, maxBytes: number): Promise<string | undefined> {
  const place = await resolveInRoot(root, path);
  const stats = await lstat(place).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT" || error.code === "ENOTDIR") return undefined;
    throw error;
  });
  if (stats === undefined || !stats.isFile()) return undefined;
  if (stats.size > maxBytes)
    throw new Error(`${path} of the image has ${stats.size} bytes; at most ${maxBytes} are read`);
  const file = await open(place, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    return await file.readFile("utf8");
  } finally {
    await file.close();
  }
}
