import { type Clock, sleep } from "@dray/client";
import { RuntimeError } from "../error.ts";
import { isStopped, processStat, signal } from "../host/processes.ts";
import type { OciContainer } from "./container.ts";

/** Milliseconds within which a process has to stop, and those between looks. */
const stopTimeout = 1000;
const stopInterval = 1;

/**
 * Moves the log of a container to the file `to`. Stops the process that writes it for the last part, so that
 * nothing is lost. Rejects, and leaves the log as it is, if that process does not stop.
 */
export async function rotateLog(container: OciContainer, to: string, clock: Clock): Promise<void> {
  await container.rotateLog(to, async () => {
    const { tty } = container.record.config;
    const { process } = container;
    // With a terminal, the program that makes it writes the log.
    const pid = process === undefined || !tty ? process?.pid : processStat(process.pid)?.parent;
    if (pid === undefined) return () => {};
    const resume = (): void => signal(pid, "SIGCONT");
    signal(pid, "SIGSTOP");
    for (const end = clock.now() + stopTimeout; !isStopped(pid); await sleep(clock, stopInterval))
      if (clock.now() >= end) {
        resume();
        throw new RuntimeError("RotateLogError", `process ${pid}, which writes the log, does not stop`);
      }
    return resume;
  });
}
