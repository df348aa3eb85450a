/** For tests: a small file system of its own, and how to fill it. */
import { spawnSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, rmSync, truncateSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";

/** Why a test that needs a small disk is skipped: false where it is not. */
export const withoutMounts: string | false = mountsHere() ? false : "no rights to mount a tmpfs";

function mountsHere(): boolean {
  const folder = mkdtempSync(join(tmpdir(), "dray-disk-"));
  try {
    if (spawnSync("mount", ["-t", "tmpfs", "tmpfs", folder]).status !== 0) return false;
    return spawnSync("umount", [folder]).status === 0;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Returns the folder of a file system of this size in MiB, mounted until the test ends. */
export function smallDisk(t: TestContext, size: number): string {
  const folder = mkdtempSync(join(tmpdir(), "dray-disk-"));
  const { status, stderr } = spawnSync("mount", ["-t", "tmpfs", "-o", `size=${size}m`, "tmpfs", folder]);
  if (status !== 0) throw new Error(`mount: ${stderr}`);
  t.after(() => {
    // Lazily: a process that the test has left may still have a file open.
    spawnSync("umount", ["-l", folder]);
    rmSync(folder, { recursive: true });
  });
  return folder;
}

/** Fills the file system but for `left` bytes. Returns a function that frees it again. */
export function fillDisk(disk: string, left = 0): () => void {
  const path = join(disk, "fill");
  const file = openSync(path, "w");
  const block = Buffer.alloc(4096);
  let written = 0;
  try {
    for (;;) written += writeSync(file, block);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
  }
  closeSync(file);
  if (left > 0) truncateSync(path, Math.max(0, written - left));
  return () => rmSync(path);
}
