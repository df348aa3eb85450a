import { existsSync } from "node:fs";
import { join } from "node:path";

/**
 * How containers are isolated. `mounts`: each has a mount name space and sees its volumes at their paths.
 * `plain`: it shares the host's paths, and values that name a volume are rewritten.
 */
export type Isolation =
  | {
      readonly type: "mounts";
      /** Each has a pid name space too: all of its processes end with the first of them. */
      readonly pids: boolean;
      /** Each has a UTS name space too, with a host name of its own. */
      readonly uts: boolean;
      /**
       * Command that starts a program in new name spaces, with a user name space unless the agent is root.
       */
      readonly unshare: readonly string[];
      /** Command that enters the name spaces of the process whose PID follows. */
      readonly nsenter: readonly string[];
      readonly tools: MountTools;
    }
  | { readonly type: "plain" };

/** Paths of programs of util-linux, which a container's PATH may hide. */
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

/** Path of a program of the machine, regardless of the agent's PATH. */
export function find(program: string): string | undefined {
  return searchPath.map((directory) => join(directory, program)).find((path) => existsSync(path));
}
