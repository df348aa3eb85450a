import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import type { ClusterConfig, FailedAgent, Layout } from "@dray/cluster";
import { endText } from "../../process/end-text.ts";
import { ownCommand } from "../../process/own-command.ts";

/** A cluster that has started, as a detached one reports it. */
export interface Started {
  readonly config: ClusterConfig;
  readonly url: string;
  /** Nodes that could not be started. */
  readonly failed: readonly FailedAgent[];
  /** Sentences about what the start has changed. */
  readonly notes: readonly string[];
}

/** Report of a detached cluster to its parent process. */
type Report =
  | { readonly ready: Started }
  | { readonly failed: string }
  /** Current step. */
  | { readonly progress: string };

/** The error of a start that the user has interrupted. */
export const interrupted = new Error("the start was interrupted");

/**
 * Starts the cluster in a separate process that prints into the open file `log.output`, and resolves once it
 * is ready. Rejects after a failed process has ended; the error names the file of the log.
 */
export async function startDetached(
  layout: Layout,
  config: ClusterConfig,
  log: { readonly file: string; readonly output: number },
  onProgress: (text: string) => void,
): Promise<Started> {
  const [command, args] = ownCommand(["up", "--data-dir", layout.dataDir, "--detached"]);
  const child = spawn(command, args, {
    detached: true,
    cwd: "/",
    stdio: ["ignore", log.output, log.output, "ipc"],
  });
  child.send(config);
  const started = await outcome(child, log.file, onProgress);
  child.unref();
  return started;
}

async function outcome(
  child: ChildProcess,
  logFile: string,
  onProgress: (text: string) => void,
): Promise<Started> {
  let failure: string | undefined;
  // Until the cluster is ready, Ctrl-C stops it.
  const giveUp = (): void => void child.kill("SIGTERM");
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, giveUp);
  try {
    return await new Promise<Started>((ready, failed) => {
      child.on("message", (message: Report) => {
        if ("ready" in message) ready(message.ready);
        else if ("progress" in message) onProgress(message.progress);
        else failure = message.failed;
      });
      child.once("error", failed);
      child.once("exit", (code, signal) => {
        const why =
          code === 0
            ? interrupted.message
            : `the cluster did not start: its process ended with ${endText({ code, signal })}; see ${logFile}`;
        failed(new Error(failure ?? why));
      });
    });
  } finally {
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.off(signal, giveUp);
    child.removeAllListeners();
  }
}

/** The parent process, which called `startDetached`. */
export interface Starter {
  readonly config: ClusterConfig;
  ready(started: Started): void;
  failed(error: Error): void;
  progress(text: string): void;
}

/** Waits for the order of the parent process. */
export async function starter(): Promise<Starter> {
  const [config] = (await once(process, "message")) as [ClusterConfig];
  const report = (message: Report): void => {
    // The parent may have ended; the cluster continues.
    if (process.connected) process.send?.(message);
  };
  return {
    config,
    ready(started) {
      report({ ready: started });
      if (process.connected) process.disconnect();
    },
    failed: (error) => report({ failed: error.message }),
    progress: (text) => report({ progress: text }),
  };
}
