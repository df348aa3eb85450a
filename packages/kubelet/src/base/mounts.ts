import { spawnSync } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";

/** Mounts an empty tmpfs of at most `bytes` over a folder. Throws an Error with the system's message. */
export function mountTmpfs(path: string, bytes: bigint): void {
  run("mount", ["-t", "tmpfs", "-o", `size=${bytes}`, "tmpfs", path]);
}

/** Returns true if something is mounted at exactly this path. */
export function isMountPoint(path: string): boolean {
  return mountPoints().includes(path);
}

/**
 * Unmounts everything at or below a folder, the newest first, including mounts of containers with
 * bidirectional propagation. Throws an Error if a mount stays.
 */
export function unmountBelow(path: string): void {
  for (const point of mountPoints().reverse())
    if (point === path || point.startsWith(`${path}/`)) run("umount", ["--no-canonicalize", point]);
}

/** Removes a folder and its contents. Unmounts first, so that no file system of the machine is emptied. */
export function removeTree(path: string): void {
  unmountBelow(path);
  rmSync(path, { recursive: true, force: true });
}

function run(command: string, args: readonly string[]): void {
  const { status, stderr, error } = spawnSync(command, args, { encoding: "utf8", env: { PATH: path } });
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
