import { type BigIntStats, constants } from "node:fs";
import { type FileHandle, lstat, open, readdir } from "node:fs/promises";
import { join } from "node:path";

/** Size of a folder on disk in bytes, as du(1). */
export async function diskUsage(path: string): Promise<bigint> {
  return (await treeUsage(path)).bytes;
}

/** Size of a folder on disk, counting each file once; ignores files that are removed meanwhile. */
export async function treeUsage(path: string): Promise<{ bytes: bigint; inodes: bigint }> {
  const usage = new TreeUsage();
  const stat = await quietly<BigIntStats>(() => lstat(path, { bigint: true }));
  if (stat === undefined) return { bytes: 0n, inodes: 0n };
  usage.count(stat);
  await usage.walk(path, 0);
  return { bytes: usage.bytes, inodes: usage.inodes };
}

/** Maximum depth that is entered: each level takes a file descriptor. Paths of Linux end at 2048 levels. */
const maxDepth = 1000;

class TreeUsage {
  bytes = 0n;
  inodes = 0n;
  /** Files with several names. */
  readonly #seen = new Set<string>();

  count(stat: BigIntStats): void {
    if (stat.nlink > 1n && !stat.isDirectory()) {
      const key = `${stat.dev}/${stat.ino}`;
      if (this.#seen.has(key)) return;
      this.#seen.add(key);
    }
    this.bytes += stat.blocks * 512n;
    this.inodes++;
  }

  /**
   * Counts what a folder contains. It stays open meanwhile, and its entries are looked up from it: a
   * container that exchanges a folder for a link leads nowhere else.
   */
  async walk(path: string, depth: number): Promise<void> {
    const folder = await openFolder(path);
    if (folder === undefined) return;
    try {
      const here = process.platform === "linux" ? `/proc/self/fd/${folder.fd}` : path;
      for (const name of (await quietly(() => readdir(here))) ?? []) {
        const entry = join(here, name);
        const stat = await quietly<BigIntStats>(() => lstat(entry, { bigint: true }));
        if (stat === undefined) continue;
        this.count(stat);
        if (stat.isDirectory() && depth < maxDepth) await this.walk(entry, depth + 1);
      }
    } finally {
      await folder.close();
    }
  }
}

function openFolder(path: string): Promise<FileHandle | undefined> {
  return quietly(() => open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW));
}

/** Undefined for what is gone, or is another thing by now. */
async function quietly<T>(look: () => Promise<T>): Promise<T | undefined> {
  try {
    return await look();
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (["ENOENT", "ENOTDIR", "ELOOP"].includes(code)) return undefined;
    throw error;
  }
}
