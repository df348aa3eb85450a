import { execFile } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { planRoot, removeRoot, writeRoot } from "./root-plan.ts";
import { rootScript } from "./scripts.ts";

/**
 * How containers are kept apart. `mounts`: each has a mount name space and sees its volumes at their paths.
 * `plain`: it shares the host's paths, and values that name a volume are rewritten.
 */
export type Isolation =
  | {
      readonly type: "mounts";
      /** Starts a program in a mount name space of its own; in a user name space too where we are not root. */
      readonly unshare: readonly string[];
      /** Enters the name spaces of the process whose number follows. */
      readonly nsenter: readonly string[];
      readonly tools: MountTools;
    }
  | { readonly type: "plain" };

/** Programs of util-linux by their paths: a container's PATH may hide them. */
export interface MountTools {
  readonly mount: string;
  readonly umount: string;
  readonly pivotRoot: string;
}

const searchPath = [
  ...(process.env["PATH"] ?? "").split(":"),
  "/usr/local/sbin",
  "/usr/local/bin",
  "/usr/sbin",
  "/usr/bin",
  "/sbin",
  "/bin",
];

/** The path of a program of the machine, wherever the agent's own PATH leads. */
export function find(program: string): string | undefined {
  return searchPath.map((directory) => join(directory, program)).find((path) => existsSync(path));
}

/** Tries the whole of it once, in `directory`; the answer of `plain` comes with the reason. */
export async function detectIsolation(
  directory: string,
  rootDir: string,
): Promise<{ readonly isolation: Isolation; readonly reason?: string }> {
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
  const isolation = {
    type: "mounts",
    unshare: [
      unshare,
      ...(privileged ? [] : ["--user", "--map-root-user"]),
      "--mount",
      "--propagation",
      "private",
      "--",
    ],
    nsenter: [nsenter, ...(privileged ? [] : ["--user", "--preserve-credentials"]), "--mount", "--root"],
    tools: { mount, umount, pivotRoot },
  } as const;
  const probe = join(directory, "probe");
  removeRoot(probe);
  try {
    const table = join(probe, "mounts");
    const root = join(probe, "root");
    const lines = writeRoot(planRoot([], rootDir), root);
    writeFileSync(table, lines);
    const script = `exec 3>&2\ntable=$1 root=$2\n${rootScript(isolation.tools)}`;
    const [program = "", ...args] = [...isolation.unshare, "/bin/sh", "-c", script, "probe", table, root];
    await promisify(execFile)(program, args, { timeout: 5000 });
    return { isolation };
  } catch (error) {
    const { stderr, message } = error as Error & { stderr?: string };
    return plain(stderr?.trim() || message);
  } finally {
    removeRoot(probe);
  }
}
