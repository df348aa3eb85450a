import { existsSync } from "node:fs";
import { join } from "node:path";

/**
 * How containers are isolated. `mounts`: each has a mount name space and sees its volumes at their paths.
 * `plain`: it shares the host's paths, and values that name a volume are rewritten.
 */
export type Isolation =
  | {
      readonly type: "mounts";
      /** Each may have a pid name space too, all of whose processes end with the first of them. */
      readonly pids: boolean;
      /** Each has a UTS name space too, with a host name of its own. */
      readonly uts: boolean;
      /** Paths of unshare(1) and nsenter(1). */
      readonly unshare: string;
      readonly nsenter: string;
      /** The agent is not root: name spaces belong to a user name space. */
      readonly users: boolean;
      readonly tools: MountTools;
    }
  | { readonly type: "plain" };

/** Paths of programs of util-linux, which a container's PATH may hide. */
export interface MountTools {
  readonly mount: string;
  readonly umount: string;
  readonly pivotRoot: string;
}

/** Pid name space of a container. */
export type PidSpace =
  /** A new one, whose first process is the container's program. */
  | "own"
  /** The one of the agent. */
  | "machine"
  /** The one of a process. */
  | { readonly of: number };

type MountIsolation = Extract<Isolation, { type: "mounts" }>;

/**
 * Shell that waits for the command in its arguments, and ends with its exit code. It stays outside of the pid
 * name space for which it was started: its child is in there. Outlives signals to its group, and keeps what
 * some shells say of a child that was killed to itself.
 */
const waitScript = [
  "trap : HUP INT QUIT TERM USR1 USR2 PIPE TSTP TTIN TTOU",
  "exec 9>&2 2>/dev/null",
  '"$@" 2>&9 9>&-',
  'exit "$?"',
].join("; ");
const waiting = ["/bin/sh", "-c", waitScript, "wait"] as const;

/**
 * Command that runs what follows in a new mount name space, and in a pid name space.
 *
 * The first process of a pid name space ends all others, and gets only the signals that it handles
 * (pid_namespaces(7)): it is the program itself, as in every container.
 */
export function unshareCommand({ unshare, nsenter, users, uts }: MountIsolation, pids: PidSpace): string[] {
  const mount = [...(uts ? ["--uts"] : []), "--mount", "--propagation", "private", "--"];
  if (typeof pids === "object") {
    const join = [nsenter, ...joinUsers(users), "--pid", "--no-fork", "--target", `${pids.of}`, "--"];
    return [...join, unshare, ...mount, ...waiting];
  }
  const user = users ? ["--user", "--map-root-user"] : [];
  // unshare's own option --fork reports 1 for a child that SIGKILL has ended (util-linux before 2.39).
  return pids === "own" ? [unshare, ...user, "--pid", ...mount, ...waiting] : [unshare, ...user, ...mount];
}

/** Command that runs what follows in the name spaces of a container's program. */
export function enterCommand(
  { nsenter, users, uts }: MountIsolation,
  { pid, pids }: { readonly pid: number; readonly pids: boolean },
): string[] {
  const spaces = [...joinUsers(users), ...(uts ? ["--uts"] : []), "--mount", "--root"];
  const target = ["--target", `${pid}`, "--"];
  return pids
    ? [nsenter, ...spaces, "--pid", "--no-fork", ...target, ...waiting]
    : [nsenter, ...spaces, ...target];
}

function joinUsers(users: boolean): string[] {
  return users ? ["--user", "--preserve-credentials"] : [];
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

/** Path of a program of the machine, regardless of the agent's PATH. */
export function find(program: string): string | undefined {
  return searchPath.map((directory) => join(directory, program)).find((path) => existsSync(path));
}
