import { existsSync } from "node:fs";
import { join } from "node:path";

/**
 * How containers are kept apart. `mounts`: each has a mount name space and sees its volumes at their paths.
 * `plain`: it shares the host's paths, and values that name a volume are rewritten.
 */
export type Isolation =
  | {
      readonly type: "mounts";
      /** Each has a pid name space, too: all of its processes end with the first of them. */
      readonly pids: boolean;
      /** Each has a UTS name space, too, with a host name of its own. */
      readonly uts: boolean;
      /** Starts a program in name spaces of its own; in a user name space too where we are not root. */
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
