import { spawnSync } from "node:child_process";
import {
  lstatSync,
  readFileSync,
  // biome-ignore lint/style/noRestrictedImports: a folder is renamed before it is removed.
  renameSync,
} from "node:fs";
import { removeFolder } from "@dray/files";
import { identityOf, type OpenEntry } from "./open-entry.ts";

/** Number of CAP_SYS_ADMIN (linux/capability.h). */
const sysAdmin = 21n;

/** Returns true if the agent has the right to mount; its name space may refuse all the same. */
export function canMount(): boolean {
  if (process.platform !== "linux") return false;
  const mask = /^CapEff:\s*([0-9a-f]+)$/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1] ?? "0";
  return ((BigInt(`0x${mask}`) >> sysAdmin) & 1n) === 1n;
}

/** Mounts an empty tmpfs of at most `bytes` over a folder. Throws an Error with the system's message. */
export function mountTmpfs(path: string, bytes: bigint): void {
  run("mount", ["-t", "tmpfs", "-o", `size=${bytes}`, "tmpfs", path]);
}

/**
 * Mounts an open file or folder over a path of the same type, whatever is on its own path meanwhile. Throws
 * an Error with the system's message.
 *
 * Upstream: pkg/volume/util/subpath/subpath_linux.go, doBindSubPath.
 */
export function mountEntry(entry: OpenEntry, target: string): void {
  const { descriptor } = entry;
  if (descriptor === undefined) throw new Error("bind mounts need Linux");
  // The program must not resolve the link of the descriptor to a path, which it would look up again
  // (CVE-2021-25741). Busybox has no such option, and does not resolve it.
  const bind = ["-o", "bind", "/proc/self/fd/3", target];
  try {
    run("mount", ["--no-canonicalize", ...bind], descriptor);
  } catch (error) {
    if (!/(unrecognized|invalid) option/.test((error as Error).message)) throw error;
    run("mount", bind, descriptor);
  }
  if (isEntryAt(entry, target)) return;
  unmount(target);
  throw new Error(`${target} is not what was to be mounted there`);
}

/** Returns true if a path leads to this very file or folder. */
export function isEntryAt(entry: OpenEntry, path: string): boolean {
  const stat = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  return stat !== undefined && identityOf(stat) === entry.identity;
}

/** Unmounts a path at once; processes that use it keep it until they end. Throws an Error. */
export function unmount(path: string): void {
  run("umount", ["--no-canonicalize", "--lazy", path]);
}

/** Returns true if something is mounted at exactly this path. */
export function isMountPoint(path: string): boolean {
  return mountPoints().includes(path);
}

/** Maximum number of mounts in one call of umount(8). */
const mountsAtOnce = 200;

/**
 * Unmounts everything at or below a folder, the newest first, including mounts of containers with
 * bidirectional propagation. Throws an Error if a mount stays.
 */
export function unmountBelow(path: string): void {
  const points = mountPoints()
    .reverse()
    .filter((point) => point === path || point.startsWith(`${path}/`));
  for (let begin = 0; begin < points.length; begin += mountsAtOnce)
    run("umount", ["--no-canonicalize", ...points.slice(begin, begin + mountsAtOnce)]);
}

/**
 * Removes a folder and its contents. Unmounts first, so that no file system of the machine is emptied.
 * Renames the folder before it is removed: what is made or mounted at its path meanwhile stays.
 */
export async function removeTree(path: string): Promise<void> {
  unmountBelow(path);
  for (let number = 1; ; number++) {
    const removed = `${path}.removed-${number}`;
    try {
      renameSync(path, removed);
    } catch (error) {
      const { code = "" } = error as NodeJS.ErrnoException;
      if (code === "ENOENT") return;
      // Another one that is being removed, or that a killed agent has left.
      if (code === "ENOTEMPTY" || code === "EEXIST") continue;
      throw error;
    }
    return await removeFolder(removed);
  }
}

/** Runs a program, which inherits `descriptor` as its own 3. */
function run(command: string, args: readonly string[], descriptor?: number): void {
  const { status, stderr, error } = spawnSync(command, args, {
    encoding: "utf8",
    env: { PATH: path },
    stdio: ["ignore", "ignore", "pipe", ...(descriptor === undefined ? [] : [descriptor])],
  });
  if (error !== undefined) throw new Error(`cannot run ${command}: ${error.message}`);
  if (status !== 0) throw new Error(stderr.trim() || `${command} ended with ${status}`);
}

const path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** Mount points in the order in which they were mounted. */
function mountPoints(): string[] {
  if (process.platform !== "linux") return [];
  return readFileSync("/proc/self/mountinfo", "utf8")
    .split("\n")
    .slice(0, -1)
    .map((line) =>
      (line.split(" ")[4] ?? "").replace(/\\([0-7]{3})/g, (_, octal: string) =>
        String.fromCharCode(Number.parseInt(octal, 8)),
      ),
    );
}
