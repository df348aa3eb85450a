import {
  chmodSync,
  chownSync,
  readFileSync,
  realpathSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { makeFolderSync, removeFolder } from "@dray/files";
import type { RootPlan } from "./root-plan.ts";
import { shellLine } from "./terminal.ts";

/** Files of a container from which the start script makes its root. */
export interface RootFiles {
  /** Table from which `mount -a` mounts what the skeleton lacks (fstab(5)). */
  readonly table: string;
  /** Shell command that fails unless what pods could exchange is mounted as planned; "" for nothing. */
  readonly check: string;
}

/**
 * Makes the skeleton of a plan below `directory`, and returns the files that mount the rest. With `ownProc`
 * /proc shows the processes of the pid name space in which it is mounted.
 */
export function writeRoot(plan: RootPlan, directory: string, ownProc: boolean): RootFiles {
  makeFolderSync(directory);
  for (const path of plan.directories) makeFolderSync(join(directory, path));
  if (process.getuid?.() === 0)
    for (const [path, source] of plan.copies) {
      const { mode, uid, gid } = statSync(source);
      chownSync(join(directory, path), uid, gid);
      chmodSync(join(directory, path), mode & 0o7777);
    }
  for (const path of plan.files) writeFileSync(join(directory, path), "", { flag: "a" });
  for (const [path, target] of plan.links) symlinkSync(target, join(directory, path));
  const lines = [`${field(directory)} ${field(directory)} none bind 0 0`];
  const table = plan.mounts.some(({ readOnly }) => readOnly) ? mountTable() : [];
  for (const { source, target, readOnly } of plan.mounts) {
    if (ownProc && source === "/proc" && target === "/proc") {
      lines.push(`proc ${field(join(directory, target))} proc defaults 0 0`);
      continue;
    }
    const options = readOnly ? ["rbind", "ro", ...kept(source, table)] : ["rbind"];
    // An entry of the machine's own folders may be removed meanwhile, as in /run.
    if (source === target) options.push("nofail");
    lines.push(`${field(source)} ${field(join(directory, target))} none ${options.join()} 0 0`);
    if (readOnly) for (const line of readOnlyBelow(source, join(directory, target), table)) lines.push(line);
  }
  return { table: `${lines.join("\n")}\n`, check: identityCheck(plan, directory) };
}

/** A mount stays what it is; its source may have been another one when it was made. */
function identityCheck({ mounts }: RootPlan, directory: string): string {
  const checked = mounts.filter(({ identity }) => identity !== undefined);
  if (checked.length === 0) return "";
  const paths = checked.map(({ target }) => join(directory, target));
  const identities = checked.map(({ identity }) => identity).join("\n");
  return `[ "$(${shellLine(["stat", "-c", "%d:%i", "--", ...paths])})" = "${identities}" ]\n`;
}

/** Mounts below a read-only mount stay writable by themselves (mount(8), "ro"). */
function readOnlyBelow(source: string, target: string, table: readonly MountPoint[]): string[] {
  const path = realpathSync(source);
  const prefix = path === "/" ? "/" : `${field(path)}/`;
  return table
    .filter(({ point, type }) => point.startsWith(prefix) && !foreign.test(type))
    .map(({ point, options }) => {
      // Mounts below it have lines of their own; in a user name space they cannot be left out.
      const how = process.getuid?.() === 0 ? "bind" : "rbind";
      const flags = [how, "ro", ...options.filter((option) => locked.includes(option)), "nofail"];
      return `${point} ${field(target)}/${point.slice(prefix.length)} none ${flags.join()} 0 0`;
    });
}

/** File systems that only their owner may read, or that reading would mount. */
const foreign = /^(?:fuse.*|autofs)$/;

/** A mount point with its options. */
interface MountPoint {
  readonly type: string;
  readonly point: string;
  readonly options: readonly string[];
}

function mountTable(): MountPoint[] {
  return readFileSync("/proc/self/mountinfo", "utf8")
    .split("\n")
    .slice(0, -1)
    .map((line) => {
      const [before = "", after = ""] = line.split(" - ");
      const [, , , , point = "", options = ""] = before.split(" ");
      return { point, options: options.split(","), type: after.split(" ")[0] ?? "" };
    });
}

/** Options that a user name space must keep. */
const locked = ["nosuid", "nodev", "noexec", "noatime", "nodiratime"];

/** Options that a user name space must keep in a read-only mount, or the kernel refuses. */
function kept(source: string, table: readonly MountPoint[]): string[] {
  const path = field(realpathSync(source));
  const enclosing = table
    .filter(({ point }) => path === point || path.startsWith(point === "/" ? "/" : `${point}/`))
    .reduce<MountPoint | undefined>(
      (best, one) => (best === undefined || one.point.length >= best.point.length ? one : best),
      undefined,
    );
  return (enclosing?.options ?? []).filter((option) => locked.includes(option));
}

/** Octal escapes of fstab(5). */
function field(path: string): string {
  return path.replace(/[\s\\#]/g, (c) => `\\${c.charCodeAt(0).toString(8).padStart(3, "0")}`);
}

/**
 * Removes a directory in which roots were made. Its mounts are never visible outside their name spaces; if
 * one is all the same, nothing is removed, since the files below it would be the host's.
 */
export async function removeRoot(directory: string): Promise<void> {
  const mounts = readFileSync("/proc/self/mountinfo", "utf8").split("\n");
  const path = field(directory);
  const mounted = mounts.find((line) => {
    const point = line.split(" ")[4];
    return point === path || point?.startsWith(`${path}/`);
  });
  if (mounted !== undefined)
    throw new Error(`${directory} is not removed because something is mounted in it: ${mounted}`);
  await removeFolder(directory);
}
