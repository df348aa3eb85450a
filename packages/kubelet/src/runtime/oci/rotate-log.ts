import { isStopped, processStat, signal } from "../host/processes.ts";
import type { OciContainer } from "./container.ts";

/**
 * Moves the log of a container to the file `to`. Stops the process that writes it meanwhile, so that nothing
 * is lost.
 */
export async function rotateLog(container: OciContainer, to: string): Promise<void> {
  const { tty } = container.record.config;
  const { process } = container;
  // With a terminal, the program that makes it writes the log.
  const pid = process === undefined || !tty ? process?.pid : processStat(process.pid)?.parent;
  if (pid !== undefined) {
    signal(pid, "SIGSTOP");
    while (!isStopped(pid)) await new Promise((resolve) => setImmediate(resolve));
  }
  try {
    await container.rotateLog(to);
  } finally {
    if (pid !== undefined) signal(pid, "SIGCONT");
  }
}
