import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import { featuresOf, parseFeatureGates, parseKubernetesVersion } from "@dray/api";
import {
  addToKubeconfigs,
  checkCapacity,
  checkKubeconfigs,
  kubeconfigFiles,
  type Layout,
  prepareDataDir,
  readConfig,
  readNodeStates,
  refreshKubeconfigs,
  runningProcess,
} from "@dray/cluster";
import { writeFileAtomicallySync } from "@dray/files";
import type { NodeState } from "@dray/kubelet";
import { driversOption } from "../../drivers/drivers.ts";
import { hasDeviceClasses, installDrivers } from "../../drivers/install-all.ts";
import { fleetPublished } from "../../fleet/published.ts";
import { simulatedNodes } from "../../fleet/simulated-nodes.ts";
import { commandText, target } from "../../options/target.ts";
import { outputLog } from "../../process/output-log.ts";
import { UsageError } from "../../terminal/failure.ts";
import { startProgress, withProgress } from "../../terminal/progress.ts";
import { remark, say } from "../../terminal/verbosity.ts";
import { changeRunning } from "./change-running.ts";
import { runCluster } from "./cluster-process.ts";
import { checkDriverNames, configure } from "./configure.ts";
import { type Started, startDetached, starter } from "./detached.ts";
import type { UpOptions } from "./options.ts";
import { printCluster } from "./print.ts";
import { clusterSummary } from "./summary.ts";

export async function up(options: UpOptions): Promise<void> {
  const chosen = target(options);
  const { layout } = chosen;
  if (options.detached) return runDetached(layout);
  const isNew = readConfig(layout) === undefined;
  const { config, fleet } = await configure(chosen, options);
  const drivers = driversOption(
    options.driver,
    featuresOf(parseKubernetesVersion(config.kubernetesVersion), parseFeatureGates(config.featureGates)),
  );
  if (fleet !== undefined) checkDriverNames(drivers, fleet);
  if (drivers.length > 0 && config.nodes.length === 0 && simulatedNodes(config, fleet?.fleet).length > 0)
    throw new UsageError(
      "--driver: all nodes are simulated, and run no drivers: add nodes with --nodes, or describe devices in a file for --fleet",
    );
  const kubeconfigs = kubeconfigFiles(options.kubeconfig, layout);
  const running = runningProcess(layout.processFile);
  if (running !== undefined)
    return changeRunning(chosen, running.pid, options, { config, drivers, ...(fleet && { fleet }) });
  const simulated = simulatedNodes(config, fleet?.fleet).length;
  checkCapacity({ nodes: config.nodes.length, simulated, drivers: drivers.length });
  prepareDataDir(layout);
  await checkKubeconfigs(layout, config.name, kubeconfigs);
  if (fleet !== undefined) {
    for (const note of fleet.fleet.notes) remark(`note: ${note}\n`);
    writeFileAtomicallySync(layout.fleetFile, fleet.text, { folderMode: 0o700 });
  }
  const finish = async (started: Started, how: string): Promise<void> => {
    for (const note of started.notes) remark(`note: ${note}\n`);
    const added = await addToKubeconfigs(layout, config.name, kubeconfigs);
    await refreshKubeconfigs(layout, config.name, (message) => remark(`note: ${message}\n`));
    await installDrivers(layout, config.name, drivers);
    if (fleet !== undefined) await fleetPublished(layout, config.name, fleet.fleet, started.config.nodes);
    if (options.output !== undefined) return printCluster(chosen, added, options.output);
    const equipped = !isNew && drivers.length === 0 && (await hasDeviceClasses(layout, config.name));
    const summary = clusterSummary(layout, started, {
      drivers,
      hasDeviceClasses: equipped,
      ...(added && { added }),
      ...(fleet && { fleet }),
    });
    say(`${summary}\n${failedNodes(started)}${limitsText(readNodeStates(layout))}${how}\n`);
  };
  if (options.detach) {
    const logFile = join(layout.logs, outputLog);
    const output = openSync(logFile, "a", 0o600);
    const started = await withProgress(
      "Starting the cluster",
      ({ update }) =>
        startDetached(layout, config, { file: logFile, output }, update).finally(() => closeSync(output)),
      { everywhere: true },
    );
    return finish(started, `${commandText(layout, "down")} stops the cluster; its data stays.`).catch(
      (error: Error) => {
        throw new Error(`the cluster runs at ${started.url}, but ${error.message}`);
      },
    );
  }
  const progress = startProgress("Starting the cluster", { everywhere: true });
  const ready = (started: Started): Promise<void> => {
    progress.stop();
    return finish(started, "Ctrl-C stops the cluster; its data stays.");
  };
  try {
    const stopping = (): void => {
      const text = "\nStopping: the pods end, then the cluster.\n";
      if (options.output === undefined) say(text);
      else remark(text);
    };
    await runCluster(layout, config, { ready, stopping, progress: progress.update });
  } finally {
    progress.stop();
  }
}

/** Runs the cluster for the parent process. */
async function runDetached(layout: Layout): Promise<void> {
  const { config, ready, failed, progress } = await starter();
  try {
    await runCluster(layout, config, { ready, progress, stopping: () => {} }, join(layout.logs, outputLog));
  } catch (error) {
    failed(error as Error);
    throw error;
  }
}

/** Returns a line about missing isolation of pods; "" if unknown. */
function limitsText(states: readonly NodeState[] | undefined): string {
  const limits = states?.find((state) => state.limits !== undefined)?.limits ?? [];
  return limits.length === 0 ? "" : `Pods are not isolated like on a real node: ${limits.join("; ")}.\n`;
}

function failedNodes({ failed }: Started): string {
  return failed
    .map(({ node, reason }) => `Node ${node} could not be started and is tried again: ${reason}\n`)
    .join("");
}
