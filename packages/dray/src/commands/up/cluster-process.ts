import { join } from "node:path";
import { type Log, systemClock } from "@dray/client";
import {
  type ClusterConfig,
  claimProcessFile,
  keepFresh,
  type Layout,
  recordPhase,
  removeProcessFile,
  startLocalCluster,
} from "@dray/cluster";
import { simulatedHardware } from "../../fleet/hardware.ts";
import { createLog } from "../../log/create.ts";
import { rotateInPlace } from "../../log/rotate.ts";
import { commandText } from "../../options/target.ts";
import { keepYoungHeapSmall } from "../../process/heap.ts";
import { agentsCommand } from "../../process/own-command.ts";
import { outliveReader } from "../../terminal/guard-output.ts";
import { withProgress } from "../../terminal/progress.ts";
import { interrupted, type Started } from "./detached.ts";

/** Milliseconds between two checks of the size of that file. */
const outputCheckInterval = 10_000;

/** Receives the progress of a start. */
export interface Listener {
  progress(text: string): void;
  ready(started: Started): void | Promise<void>;
  stopping(): void;
}

/**
 * Runs the cluster in this process until a signal. `outputFile` is the standard output of this process, if it
 * is a file.
 */
export async function runCluster(
  layout: Layout,
  config: ClusterConfig,
  listener: Listener,
  outputFile?: string,
): Promise<void> {
  const log = createLog("cluster", join(layout.logs, "control-plane.log"));
  refuseSecond(layout, claimProcessFile(layout.processFile)?.pid);
  const stopHeartbeat = keepFresh(layout.processFile);
  outliveReader();
  const stop = new AbortController();
  // A terminal, npm and the launcher may each forward the same Ctrl-C: the first signal stops, the others are
  // ignored.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
    process.on(signal, () => stop.abort(interrupted));
  if (outputFile !== undefined) boundOutput(outputFile, log);
  try {
    const cluster = await startLocalCluster({
      layout,
      config,
      log,
      startAgents: () => agentsCommand(layout, config),
      hardware: simulatedHardware(layout, config, systemClock, log),
      signal: stop.signal,
      onProgress: (text) => listener.progress(text),
    });
    try {
      recordPhase(layout.processFile, "ready");
      const { config, url, failed, notes } = cluster;
      await listener.ready({ config, url, failed, notes });
      for (const { node, reason } of failed) log.error({ node, reason }, "the node could not be started");
      const { kubernetesVersion, nodes } = cluster.config;
      log.info({ kubernetesVersion, url: cluster.url, nodes: nodes.length }, "the cluster is ready");
      keepYoungHeapSmall();
      if (!stop.signal.aborted)
        await new Promise((resolve) => stop.signal.addEventListener("abort", resolve, { once: true }));
      listener.stopping();
    } finally {
      log.info({}, "the cluster stops");
      recordPhase(layout.processFile, "stopping");
      await (outputFile === undefined
        ? withProgress("Stopping the pods and the cluster", () => cluster.stop())
        : cluster.stop());
      log.info({}, "the cluster has stopped");
    }
  } catch (error) {
    if (error !== interrupted) throw error;
  } finally {
    stopHeartbeat();
    removeProcessFile(layout.processFile);
  }
}

function refuseSecond(layout: Layout, pid: number | undefined): void {
  if (pid === undefined) return;
  throw new Error(
    `the cluster in ${layout.dataDir} is already running (process ${pid}): see ${commandText(layout, "status")}`,
  );
}

/** Limits the size of the file of the standard output. All processes append to it. */
function boundOutput(path: string, log: Log): void {
  const look = (): void => {
    try {
      rotateInPlace(path);
    } catch (error) {
      log.debug({ error, path }, "the file of the output could not be rotated");
    }
  };
  look();
  setInterval(look, outputCheckInterval).unref();
}
