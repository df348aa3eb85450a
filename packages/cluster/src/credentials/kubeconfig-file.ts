import { chmodSync, chownSync, readFileSync, rmSync, type Stats, statSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { followLinksSync, makeFolderSync, writeFileAtomicallySync } from "@dray/files";
import { isAlive, type ProcessId, thisProcess } from "../process/process-file.ts";

/** How long another program may hold the lock of a file, in milliseconds. */
const lockTimeout = 10_000;
const lockInterval = 20;

/**
 * Replaces the content of a kubeconfig with what `edit` makes of it ("" for a file that does not exist),
 * unless that is the same. Excludes kubectl, kind and other processes of ours by the lock file that they use
 * too. Mode, owner and links stay; a new file can be read by its owner alone. Returns whether something has
 * changed.
 *
 * Upstream: client-go, tools/clientcmd/config.go, lockFile.
 */
export async function updateKubeconfigFile(path: string, edit: (text: string) => string): Promise<boolean> {
  const target = resolve(followLinksSync(path));
  makeFolderSync(dirname(target), 0o700);
  // A file that has two names has two locks: everybody takes them in the same order.
  const locks = [...new Set([resolve(path), target])].sort().map((name) => `${name}.lock`);
  return withLocks(locks, () => {
    const before = regularFile(path);
    const old = before === undefined ? "" : readFileSync(target, "utf8");
    const text = edit(old);
    if (text === old) return false;
    writeFileAtomicallySync(target, text, { mode: before === undefined ? 0o600 : before.mode & 0o777 });
    if (before !== undefined) keepOwner(target, before);
    return true;
  });
}

/** Stats of the file; undefined if it does not exist. Throws if there is something other than a file. */
export function regularFile(path: string): Stats | undefined {
  let found: Stats | undefined;
  try {
    found = statSync(path, { throwIfNoEntry: false });
  } catch (cause) {
    const advice = "name another with --kubeconfig, or unset $KUBECONFIG to use the cluster's own";
    throw new Error(`the kubeconfig ${path} cannot be read: ${(cause as Error).message}: ${advice}`, {
      cause,
    });
  }
  if (found === undefined || found.isFile()) return found;
  throw new Error(`${path} must be a file, not a ${found.isDirectory() ? "folder" : "device or pipe"}`);
}

function keepOwner(path: string, { uid, gid, mode }: Stats): void {
  try {
    const now = statSync(path);
    if (now.uid !== uid || now.gid !== gid) chownSync(path, uid, gid);
    // The umask may have taken bits away.
    chmodSync(path, mode & 0o777);
  } catch (error) {
    // Only the superuser gives files away: for anybody else the file becomes their own.
    if ((error as NodeJS.ErrnoException).code !== "EPERM") throw error;
  }
}

async function withLocks<T>(locks: readonly string[], work: () => T): Promise<T> {
  const held: string[] = [];
  try {
    for (const lock of locks) {
      await takeLock(lock);
      held.push(lock);
    }
    return work();
  } finally {
    for (const lock of held) rmSync(lock, { force: true });
  }
}

async function takeLock(lock: string): Promise<void> {
  const deadline = performance.now() + lockTimeout;
  while (!createLock(lock)) {
    removeAbandoned(lock);
    if (performance.now() > deadline)
      throw new Error(
        `another program has held ${lock} for ${lockTimeout / 1000} s: if none is running, remove that file`,
      );
    await sleep(lockInterval);
  }
}

function createLock(lock: string): boolean {
  try {
    writeFileSync(lock, JSON.stringify(thisProcess()), { flag: "wx", mode: 0o600 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

/**
 * Removes the lock of a process of ours that was killed. One at a time does so: the lock may be somebody
 * else's by then.
 */
function removeAbandoned(lock: string): void {
  if (!isAbandoned(lock) || !createLock(`${lock}.removal`)) return;
  if (isAbandoned(lock)) rmSync(lock, { force: true });
  rmSync(`${lock}.removal`);
}

/**
 * Others write nothing into their locks, and neither does a process of ours in the moment when it creates
 * one.
 */
function isAbandoned(lock: string): boolean {
  try {
    // Written by this program.
    const holder = JSON.parse(readFileSync(lock, "utf8")) as ProcessId;
    return typeof holder.pid === "number" && !isAlive(holder);
  } catch {
    return false;
  }
}
