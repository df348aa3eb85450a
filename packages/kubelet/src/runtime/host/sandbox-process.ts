import { spawn } from "node:child_process";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { RuntimeError } from "../error.ts";
import { toolEnvironment } from "./environment.ts";
import type { Isolation } from "./isolation.ts";
import { type ProcessIdentity, parseStat } from "./processes.ts";

/** File in the folder of a sandbox with the line of /proc/PID/stat of its process. */
export const processName = "process";

/** File of the runtime's directory with `sandboxScript`. */
export const sandboxScriptName = "sandbox.sh";

/**
 * Argument: the file for its identity. Waits for a process of its own, and so for orphans of the containers
 * too, as the pause container does.
 */
export const sandboxScript = `
read -r stat </proc/self/stat
echo "$stat" >"$1" || exit
echo "$stat"
exec >/dev/null 2>&1
while :; do sleep 1000000000 & wait "$!"; done
`;

/** Its only child is the first process of the new pid name space. */
const forkScript = '/bin/sh "$1" "$2" &';

/**
 * Starts the first process of a pid name space that the containers of a pod share, by the script in
 * `directory`, and writes its identity to `file`. It runs on when the agent ends.
 *
 * Upstream: CRI, NamespaceMode.POD; build/pause/linux/pause.c.
 */
export async function startSandboxProcess(
  directory: string,
  file: string,
  { unshare, users }: Extract<Isolation, { type: "mounts" }>,
): Promise<ProcessIdentity> {
  const flags = [...(users ? ["--user", "--map-root-user"] : []), "--pid", "--"];
  const child = spawn(
    unshare,
    [...flags, "/bin/sh", "-c", forkScript, "sandbox", join(directory, sandboxScriptName), file],
    {
      cwd: "/",
      env: toolEnvironment,
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  const failed = new Promise<never>((_, reject) => child.once("error", reject));
  const [output, errors] = await Promise.race([
    Promise.all([text(child.stdout), text(child.stderr)]),
    failed,
  ]);
  const process = parseStat(output);
  if (process === undefined)
    throw new RuntimeError("CreatePodSandboxError", `no process for the sandbox: ${errors.trim()}`);
  return { pid: process.pid, startTime: process.startTime };
}
