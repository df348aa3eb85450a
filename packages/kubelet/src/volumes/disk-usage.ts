import type { BigIntStats } from "node:fs";
import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";

/** Size of a folder on disk in bytes, as du(1). */
export async function diskUsage(path: string): Promise<bigint> {
  return (await treeUsage(path)).bytes;
}

/** Size of a folder on disk, counting each file once; ignores files that are removed meanwhile. */
export async function treeUsage(path: string): Promise<{ bytes: bigint; inodes: bigint }> {
  const seen = new Set<string>();
  let [bytes, inodes] = [0n, 0n];
  const folders: string[] = [path];
  const count = async (entry: string): Promise<void> => {
    const stat = await quietly<BigIntStats>(() => lstat(entry, { bigint: true }));
    if (stat === undefined) return;
    if (stat.nlink > 1n && !stat.isDirectory()) {
      const key = `${stat.dev}/${stat.ino}`;
      if (seen.has(key)) return;
      seen.add(key);
    }
    bytes += stat.blocks * 512n;
    inodes++;
    if (stat.isDirectory() && entry !== path) folders.push(entry);
  };
  await count(path);
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop())
    for (const name of (await quietly(() => readdir(folder))) ?? []) await count(join(folder, name));
  return { bytes, inodes };
}

async function quietly<T>(look: () => Promise<T>): Promise<T | undefined> {
  try {
    return await look();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw error;
  }
}
