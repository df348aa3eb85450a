import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Log } from "@dray/client";
import {
  type ClusterConfig,
  claimProcessFile,
  formatStore,
  keepFresh,
  type Layout,
  nodeNames,
  prepareDataDir,
  readConfig,
  removeProcessFile,
  runningProcess,
  startLocalCluster,
} from "@dray/cluster";
import { outliveReader } from "../guard-output.ts";
import { parseImageMapping } from "../images.ts";
import { createLog } from "../log/create.ts";
import { rotateInPlace } from "../log/rotate.ts";
import { featuresOption, storeOption, wholeNumber } from "../options.ts";
import { agentsCommand, ourselves } from "../ourselves.ts";
import { clusterSummary } from "../summary.ts";
import { type Target, type TargetFlags, target } from "../target.ts";
import { say } from "../verbosity.ts";

export interface UpOptions extends TargetFlags {
  readonly nodes?: string;
  readonly port?: string;
  readonly kubeconfig?: string;
  readonly store?: string;
  readonly kubernetesVersion?: string;
  readonly featureGates?: string;
  readonly image: readonly string[];
  readonly detach?: boolean;
}

/** Milliseconds between two looks at the size of what a detached cluster and its agents print. */
const outputCheckInterval = 10_000;

/** What a detached cluster tells the process that started it. */
type Report = { readonly ready: string } | { readonly failed: string };

/** What the flags ask for, on top of what the cluster already is. */
function configure({ name, layout }: Target, options: UpOptions): ClusterConfig {
  const before = readConfig(layout);
  const featureGates = options.featureGates ?? before?.featureGates ?? "";
  const { version: kubernetesVersion } = featuresOption({
    kubernetesVersion: options.kubernetesVersion ?? before?.kubernetesVersion,
    featureGates,
  });
  const nodes =
    options.nodes === undefined ? undefined : nodeNames(wholeNumber("--nodes", options.nodes, 0, 100));
  const port = options.port === undefined ? before?.port : wholeNumber("--port", options.port, 0, 65535);
  for (const image of options.image) parseImageMapping(image);
  return {
    name,
    kubernetesVersion,
    featureGates,
    nodes: nodes ?? before?.nodes ?? nodeNames(2),
    port: port ?? 0,
    store: formatStore(storeOption(options.store ?? before?.store ?? `sqlite:${layout.database}`)),
    images: options.image.length > 0 ? options.image : (before?.images ?? []),
  };
}

export async function up(options: UpOptions): Promise<void> {
  const chosen = target(options);
  const { layout } = chosen;
  const config = configure(chosen, options);
  refuseSecond(layout, runningProcess(layout.processFile)?.pid);
  prepareDataDir(layout);
  if (options.detach) return detach(layout, config, options);
  const report =
    process.send === undefined
      ? undefined
      : (message: Report) => {
          // The one who asked may be gone; the cluster goes on.
          if (process.connected) process.send?.(message);
        };
  try {
    await run(layout, config, options, report);
  } catch (error) {
    if (error !== asked) {
      report?.({ failed: (error as Error).message });
      throw error;
    }
  }
}

function refuseSecond(layout: Layout, pid: number | undefined): void {
  if (pid === undefined) return;
  throw new Error(
    `the cluster in ${layout.dataDir} is already running (process ${pid}): see \`dray status\``,
  );
}

/** Why a start was given up: the person asked for it. */
const asked = new Error("the start was interrupted");

/** Runs the cluster in this process until a signal comes. */
async function run(
  layout: Layout,
  config: ClusterConfig,
  options: UpOptions,
  report: ((message: Report) => void) | undefined,
): Promise<void> {
  const log = createLog("control-plane", join(layout.logs, "control-plane.log"));
  refuseSecond(layout, claimProcessFile(layout.processFile)?.pid);
  const stopHeartbeat = keepFresh(layout.processFile);
  outliveReader();
  const stop = new AbortController();
  // A terminal, npm and the launcher may each pass the same Ctrl-C on: one is enough, and the rest must not kill us.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => stop.abort(asked));
  if (report !== undefined) boundOutput(join(layout.logs, outputLog), log);
  try {
    const cluster = await startLocalCluster({
      layout,
      config,
      log,
      kubeconfigs: options.kubeconfig === undefined ? [] : [resolve(options.kubeconfig)],
      startAgents: (nodes) => agentsCommand(layout, nodes, config),
      signal: stop.signal,
    });
    const summary = clusterSummary(layout, cluster.config, cluster.url);
    if (report !== undefined) {
      report({ ready: summary });
      if (process.connected) process.disconnect();
    } else say(`${summary}\nCtrl-C stops the cluster; its data stays.\n`);
    if (!stop.signal.aborted)
      await new Promise((resolve) => stop.signal.addEventListener("abort", resolve, { once: true }));
    if (report === undefined) say("\nStopping: the pods end, then the cluster.\n");
    await cluster.stop();
  } finally {
    stopHeartbeat();
    removeProcessFile(layout.processFile);
  }
}

/** What a detached cluster and its agents print beside their logs: how a process failed. */
const outputLog = "up.log";

/** Keeps the file of the standard output within its limit. All processes append to it. */
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

/** Starts the cluster in a process of its own, and returns once that says it is ready. */
async function detach(layout: Layout, config: ClusterConfig, options: UpOptions): Promise<void> {
  const logFile = join(layout.logs, outputLog);
  const output = openSync(logFile, "a", 0o600);
  const flags = [
    "up",
    "--name",
    config.name,
    "--data-dir",
    layout.dataDir,
    "--nodes",
    `${config.nodes.length}`,
  ];
  flags.push("--port", `${config.port}`, "--store", config.store);
  flags.push("--kubernetes-version", config.kubernetesVersion, "--feature-gates", config.featureGates);
  for (const image of config.images) flags.push("--image", image);
  if (options.kubeconfig !== undefined) flags.push("--kubeconfig", resolve(options.kubeconfig));
  const [command, args] = ourselves(flags);
  const child = spawn(command, args, { detached: true, cwd: "/", stdio: ["ignore", output, output, "ipc"] });
  closeSync(output);
  const summary = await outcome(child, logFile);
  child.unref();
  say(`${summary}\n\`dray down\` stops the cluster; its data stays.\n`);
}

/** The summary of the cluster that the child runs; rejects once a child that failed has ended. */
async function outcome(child: ChildProcess, logFile: string): Promise<string> {
  let failure: string | undefined;
  // Until it is ready, Ctrl-C is for the cluster.
  const giveUp = (): void => void child.kill("SIGTERM");
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, giveUp);
  try {
    return await new Promise<string>((ready, failed) => {
      child.on("message", (message: Report) => {
        if ("ready" in message) ready(message.ready);
        else failure = message.failed;
      });
      child.once("error", failed);
      child.once("exit", (code, signal) => {
        const why =
          code === 0 ? asked.message : `the cluster did not start (${signal ?? code}): see ${logFile}`;
        failed(new Error(failure ?? why));
      });
    });
  } finally {
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.off(signal, giveUp);
    child.removeAllListeners();
  }
}
