import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { isMountPoint } from "../../base/mounts.ts";
import { toolEnvironment } from "../host/environment.ts";
import { type ProcessIdentity, parseStat } from "../host/processes.ts";
import { holderName, noteName } from "./scripts.ts";
import { tool } from "./tools.ts";

/** Properties of the process of a sandbox. */
export interface SandboxProcess {
  /** Folder of the scripts. */
  readonly scripts: string;
  /** File for the identity of the process. */
  readonly trace: string;
  /** Options of `nsenter` for the name spaces of the sandbox. */
  readonly enter: readonly string[];
  /** File for a pid name space of which it is the first process; undefined without one. */
  readonly pidNamespace: string | undefined;
}

/**
 * Starts the process of a sandbox: as the pause container of others, it is there for programs that find the
 * name spaces of a pod by a process, and holds a pid name space that containers share. Resolves when it runs.
 */
export async function startSandboxProcess(options: SandboxProcess): Promise<void> {
  const { scripts, trace, enter, pidNamespace } = options;
  const words =
    pidNamespace === undefined
      ? ["/bin/sh", join(scripts, noteName), trace, tool("sleep"), "infinity"]
      : [
          tool("unshare"),
          `--pid=${pidNamespace}`,
          "--fork",
          "--kill-child",
          "--",
          "/bin/sh",
          join(scripts, holderName),
          trace,
        ];
  const child = spawn(tool("nsenter"), [...enter, "--", ...words], {
    cwd: "/",
    env: toolEnvironment,
    detached: true,
    stdio: "ignore",
  });
  child.unref();
  let failed: string | undefined;
  child.once("error", (error) => {
    failed = error.message;
  });
  child.once("exit", (code) => {
    failed ??= `nsenter ended with ${code}`;
  });
  // A process of unshare mounts the file, maybe after the process has started.
  for (;;) {
    if (failed !== undefined) throw new Error(`cannot start the process of the sandbox: ${failed}`);
    if (sandboxProcess(trace) !== undefined && (pidNamespace === undefined || isMountPoint(pidNamespace)))
      return;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** Identity of the process of a sandbox; undefined if it was never started. */
export function sandboxProcess(trace: string): ProcessIdentity | undefined {
  try {
    return parseStat(readFileSync(trace, "utf8"));
  } catch {
    return undefined;
  }
}
