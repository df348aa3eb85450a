import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { find, type Isolation, unshareCommand } from "./isolation.ts";
import { planRoot } from "./root-plan.ts";
import { removeRoot, writeRoot } from "./root-write.ts";
import { rootScript } from "./scripts.ts";

export interface DetectedIsolation {
  readonly isolation: Isolation;
  /** Why there are no mount name spaces, or no pid name spaces. */
  readonly reason?: string;
}

/** Detects isolation by a full trial in `directory`, with pid name spaces if the system supports them. */
export async function detectIsolation(directory: string, rootDir: string): Promise<DetectedIsolation> {
  const all = await tryIsolation(directory, rootDir, true);
  if (all.isolation.type === "mounts") return all;
  return { ...all, ...(await tryIsolation(directory, rootDir, false)) };
}

/** False also if /proc/sys is read-only, as in other containers. */
async function canNameHost(unshare: string): Promise<boolean> {
  const file = "/proc/sys/kernel/hostname";
  const script = `read -r name <${file} && echo "$name" >${file}`;
  return promisify(execFile)(unshare, ["--uts", "--", "/bin/sh", "-c", script], { timeout: 5000 }).then(
    () => true,
    () => false,
  );
}

async function tryIsolation(directory: string, rootDir: string, pids: boolean): Promise<DetectedIsolation> {
  const plain = (reason: string) => ({ isolation: { type: "plain" } as const, reason });
  const [unshare, nsenter, mount, umount, pivotRoot] = [
    "unshare",
    "nsenter",
    "mount",
    "umount",
    "pivot_root",
  ].map(find);
  if (!unshare || !nsenter || !mount || !umount || !pivotRoot)
    return plain("unshare, nsenter, mount, umount or pivot_root is not installed");
  const privileged = process.getuid?.() === 0;
  const uts = privileged && (await canNameHost(unshare));
  const isolation = {
    type: "mounts",
    pids,
    uts,
    unshare,
    nsenter,
    users: !privileged,
    tools: { mount, umount, pivotRoot },
  } as const;
  const probe = join(directory, "probe");
  await removeRoot(probe);
  try {
    const table = join(probe, "mounts");
    const root = join(probe, "root");
    writeFileSync(table, writeRoot(planRoot([], rootDir), root, pids).table);
    const script = `exec 3>&2\ntable=$1 root=$2\n${rootScript(isolation.tools)}`;
    const start = unshareCommand(isolation, pids ? "own" : "machine");
    const [program = "", ...args] = [...start, "/bin/sh", "-c", script, "probe", table, root];
    await promisify(execFile)(program, args, { timeout: 5000 });
    return { isolation };
  } catch (error) {
    const { stderr, message } = error as Error & { stderr?: string };
    return plain(stderr?.trim() || message);
  } finally {
    await removeRoot(probe);
  }
}
