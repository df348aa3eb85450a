import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import { type Features, featuresOf, parseFeatureGates, parseKubernetesVersion } from "@dray/api";
import type { Log } from "@dray/client";
import {
  addToKubeconfigs,
  type ClusterConfig,
  checkCapacity,
  checkKubeconfigs,
  claimProcessFile,
  formatStore,
  type KeptFile,
  keepFresh,
  kubeconfigFiles,
  type Layout,
  namesText,
  nodeNames,
  prepareDataDir,
  readConfig,
  readNodeStates,
  recordPhase,
  refreshKubeconfigs,
  removeProcessFile,
  runningProcess,
  startLocalCluster,
} from "@dray/cluster";
import { writeFileAtomicallySync } from "@dray/files";
import type { NodeState } from "@dray/kubelet";
import { type ChosenDriver, driversOption } from "../drivers/drivers.ts";
import { hasDeviceClasses, installDrivers } from "../drivers/install-all.ts";
import { UsageError } from "../failure.ts";
import { type FleetFile, fleetOf, keptText, readFleetFile } from "../fleet/file.ts";
import { simulatedHardware } from "../fleet/hardware.ts";
import { fleetPublished } from "../fleet/published.ts";
import { simulatedNodes, simulationOf } from "../fleet/simulated-nodes.ts";
import { outliveReader } from "../guard-output.ts";
import { keepYoungHeapSmall } from "../heap.ts";
import { parseImageMapping } from "../images/mapping.ts";
import { createLog } from "../log/create.ts";
import { rotateInPlace } from "../log/rotate.ts";
import {
  advertiseAddressOption,
  bindAddressOption,
  checkNeededApis,
  clusterApis,
  featuresOption,
  runtimeConfigOption,
  storeOption,
  wholeNumber,
} from "../options.ts";
import { agentsCommand } from "../ourselves.ts";
import { startProgress, withProgress } from "../progress.ts";
import { runtimeOption } from "../runtimes.ts";
import { checkSchedulerConfig, readSchedulerConfig } from "../scheduler-config.ts";
import { clusterSummary } from "../summary.ts";
import { commandText, type Target, type TargetFlags, target } from "../target.ts";
import { interrupted, type Started, startDetached, starter } from "../up/detached.ts";
import { printCluster } from "../up/print.ts";
import { changeRunning } from "../up/running.ts";
import { remark, say } from "../verbosity.ts";

export interface UpOptions extends TargetFlags {
  readonly nodes?: string;
  /** A number, or `all`. */
  readonly simulatedNodes?: string;
  readonly port?: string;
  readonly bindAddress?: string;
  readonly advertiseAddress?: string;
  readonly runtimeConfig?: string;
  readonly enableAdmissionPlugins?: string;
  readonly kubeconfig?: string;
  readonly store?: string;
  readonly kubernetesVersion?: string;
  readonly featureGates?: string;
  readonly runtime?: string;
  readonly image: readonly string[];
  readonly driver: readonly string[];
  /** A file, or `none`. */
  readonly fleet?: string;
  /** A file, or `none`. */
  readonly schedulerConfig?: string;
  readonly detach?: boolean;
  readonly output?: "json" | "yaml";
  /** This process was started by `startDetached`. */
  readonly detached?: boolean;
}

/** Milliseconds between two looks at the size of what a detached cluster and its agents print. */
const outputCheckInterval = 10_000;

/** What the names of nodes and the ports of this machine allow at the very most; the memory allows less. */
const maxNodes = 20_000;

/** What the flags ask for, on top of what the cluster already is. */
async function configure({ name, layout }: Target, options: UpOptions): Promise<Configured> {
  const before = readConfig(layout);
  const featureGates = options.featureGates ?? before?.featureGates ?? "";
  const features = featuresOption({
    kubernetesVersion: options.kubernetesVersion ?? before?.kubernetesVersion,
    featureGates,
  });
  const { version: kubernetesVersion } = features;
  const simulated = simulatedNodesOption(options.simulatedNodes, before);
  const chosen = chooseFleet(layout, before, options.fleet, features, simulated);
  if (simulated.simulatedNodes === "all" && (chosen === undefined || chosen.fleet.nodes.length === 0))
    throw new UsageError(
      "--simulated-nodes all: there are no nodes of a fleet: name a file that has some with --fleet, or give a number",
    );
  const count = options.nodes === undefined ? undefined : wholeNumber("--nodes", options.nodes, 0, maxNodes);
  const nodes = chosen === undefined ? undefined : fleetNodes(chosen, count);
  const defaultCount = simulated.simulatedNodes === undefined && !hasSimulatedNodes(chosen) ? 2 : 0;
  // Names of a fleet that is no longer are not kept.
  const kept = chosen === undefined && before?.fleet !== undefined ? undefined : before?.nodes;
  const bindAddress =
    options.bindAddress === undefined
      ? (before?.bindAddress ?? "127.0.0.1")
      : bindAddressOption(options.bindAddress);
  const advertiseAddress =
    options.advertiseAddress === undefined
      ? before?.advertiseAddress
      : advertiseAddressOption(options.advertiseAddress);
  const runtimeConfig =
    options.runtimeConfig === undefined ? before?.runtimeConfig : runtimeConfigOption(options.runtimeConfig);
  checkNeededApis(runtimeConfig ?? {}, clusterApis, "a cluster");
  const port = options.port === undefined ? before?.port : wholeNumber("--port", options.port, 0, 65535);
  for (const image of options.image) parseImageMapping(image);
  const schedulerConfig = await chooseSchedulerConfig(before, options.schedulerConfig, features);
  const config = {
    name,
    kubernetesVersion,
    featureGates,
    runtimeConfig: runtimeConfig ?? {},
    bindAddress,
    advertiseAddress: advertiseAddress ?? "",
    nodes: nodes ?? (count === undefined ? (kept ?? nodeNames(defaultCount)) : nodeNames(count)),
    port: port ?? 0,
    store: formatStore(storeOption(options.store ?? before?.store ?? `sqlite:${layout.database}`)),
    runtime: runtimeOption(options.runtime ?? before?.runtime ?? "host"),
    images: options.image.length > 0 ? options.image : (before?.images ?? []),
    ...(chosen && { fleet: chosen.path }),
    ...simulated,
    ...(schedulerConfig && { schedulerConfig }),
    ...(await chooseAdmissionPlugins(before, options.enableAdmissionPlugins)),
  };
  return { config, ...(chosen && { fleet: chosen }) };
}

interface Configured {
  readonly config: ClusterConfig;
  readonly fleet?: FleetFile;
}

/** The fleet that the flag names, or the one that the cluster has; undefined if there is none. */
function chooseFleet(
  layout: Layout,
  before: ClusterConfig | undefined,
  flag: string | undefined,
  features: Features,
  simulated: Pick<ClusterConfig, "simulatedNodes">,
): FleetFile | undefined {
  if (flag === "none") return undefined;
  if (flag !== undefined) return readFleetFile(flag, { features, ...simulationOf(simulated) });
  if (before?.fleet === undefined) return undefined;
  const fleet = fleetOf(layout, { ...before, ...simulated, kubernetesVersion: features.version });
  return fleet && { path: before.fleet, text: keptText(layout), fleet };
}

/** What the flag names, or what the cluster has; undefined if there is none. Throws if it is no configuration of the release. */
async function chooseSchedulerConfig(
  before: ClusterConfig | undefined,
  flag: string | undefined,
  features: Features,
): Promise<KeptFile | undefined> {
  if (flag === "none") return undefined;
  if (flag !== undefined) {
    const { path, text } = await readSchedulerConfig("--scheduler-config", flag, features);
    return { path, text };
  }
  const kept = before?.schedulerConfig;
  if (kept !== undefined) await checkSchedulerConfig(kept.path, kept.text, features);
  return kept;
}

/** What the flag names, or what the cluster has. */
async function chooseAdmissionPlugins(
  before: ClusterConfig | undefined,
  flag: string | undefined,
): Promise<Pick<ClusterConfig, "enabledAdmissionPlugins">> {
  let enabledAdmissionPlugins = before?.enabledAdmissionPlugins ?? [];
  if (flag !== undefined) {
    const { admissionPluginOptions } = await import("../apiserver/admission-plugins.ts");
    ({ enabledAdmissionPlugins } = admissionPluginOptions(flag));
  }
  return enabledAdmissionPlugins.length > 0 ? { enabledAdmissionPlugins } : {};
}

/** The nodes of the fleet that run containers; undefined if it names none. */
function fleetNodes({ path, fleet }: FleetFile, count: number | undefined): readonly string[] | undefined {
  const names = fleet.nodes.filter(({ simulated }) => !simulated).map(({ name }) => name);
  if (names.length === 0) return undefined;
  if (count !== undefined && count !== names.length)
    throw new UsageError(
      `--nodes ${count}: ${path} names ${names.length === 1 ? "1 node" : `${names.length} nodes`} (${namesText(names)}): leave --nodes out, or change the file`,
    );
  return names;
}

/** Two drivers of one name would take each other's sockets and slices. Throws a UsageError. */
function checkDriverNames(drivers: readonly ChosenDriver[], { path, fleet }: FleetFile): void {
  const simulated = new Set(
    [...fleet.nodes.flatMap((node) => node.drivers), ...fleet.network].map(({ name }) => name),
  );
  for (const { name, installation } of drivers)
    if (simulated.has(installation.id))
      throw new UsageError(
        `--driver ${name}: the fleet of the cluster, ${path}, has a driver ${installation.id} already; ` +
          "leave --driver out, or start a cluster without the fleet: another --name, or --fleet none when it is stopped",
      );
}

function hasSimulatedNodes(chosen: FleetFile | undefined): boolean {
  return chosen?.fleet.nodes.some(({ simulated }) => simulated) === true;
}

/** What the flag says, or the cluster has. */
function simulatedNodesOption(
  flag: string | undefined,
  before: ClusterConfig | undefined,
): Pick<ClusterConfig, "simulatedNodes"> {
  const found = flag === undefined ? before?.simulatedNodes : flag === "all" ? flag : numberOf(flag);
  return found === undefined || found === 0 ? {} : { simulatedNodes: found };

  function numberOf(text: string): number {
    if (/^\d+$/.test(text) && Number(text) <= maxNodes) return Number(text);
    throw new UsageError(`--simulated-nodes ${text}: must be a whole number from 0 to ${maxNodes}, or all`);
  }
}

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
  if (running !== undefined) return changeRunning(chosen, config, options, drivers, running.pid, fleet);
  const simulated = simulatedNodes(config, fleet?.fleet).length;
  checkCapacity({ nodes: config.nodes.length, simulated, drivers: drivers.length });
  prepareDataDir(layout);
  await checkKubeconfigs(layout, config.name, kubeconfigs);
  if (fleet !== undefined) {
    for (const note of fleet.fleet.notes) remark(`note: ${note}\n`);
    writeFileAtomicallySync(layout.fleetFile, fleet.text, { folderMode: 0o700 });
  }
  const finish = async (started: Started, how: string): Promise<void> => {
    const added = await addToKubeconfigs(layout, config.name, kubeconfigs);
    await refreshKubeconfigs(layout, config.name, (message) => remark(`note: ${message}\n`));
    await installDrivers(layout, config.name, drivers);
    if (fleet !== undefined) await fleetPublished(layout, config.name, fleet.fleet, started.config.nodes);
    if (options.output !== undefined) return printCluster(chosen, added, options.output);
    const equipped = !isNew && drivers.length === 0 && (await hasDeviceClasses(layout, config.name));
    const summary = clusterSummary(layout, started.config, started.url, added, drivers, equipped, fleet);
    say(`${summary}\n${failedNodes(started)}${limitsText(readNodeStates(layout))}${how}\n`);
  };
  if (options.detach) {
    const logFile = join(layout.logs, outputLog);
    const output = openSync(logFile, "a", 0o600);
    const started = await withProgress("Starting the cluster", ({ update }) =>
      startDetached(layout, config, output, logFile, update).finally(() => closeSync(output)),
    );
    return finish(started, `${commandText(layout, "down")} stops the cluster; its data stays.`).catch(
      (error: Error) => {
        throw new Error(`the cluster runs at ${started.url}, but ${error.message}`);
      },
    );
  }
  const progress = startProgress("Starting the cluster");
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
    await run(layout, config, { ready, stopping, progress: progress.update });
  } finally {
    progress.stop();
  }
}

/** Runs the cluster for the process that started this one. */
async function runDetached(layout: Layout): Promise<void> {
  const { config, ready, failed, progress } = await starter();
  try {
    await run(layout, config, { ready, progress, stopping: () => {} }, join(layout.logs, outputLog));
  } catch (error) {
    failed(error as Error);
    throw error;
  }
}

/** One line that says what pods are not kept apart from; "" if nothing is known of it. */
function limitsText(states: readonly NodeState[] | undefined): string {
  const limits = states?.find((state) => state.limits !== undefined)?.limits ?? [];
  return limits.length === 0 ? "" : `Pods are not isolated like on a real node: ${limits.join("; ")}.\n`;
}

function failedNodes({ failed }: Started): string {
  return failed
    .map(({ node, reason }) => `Node ${node} could not be started and is tried again: ${reason}\n`)
    .join("");
}

function refuseSecond(layout: Layout, pid: number | undefined): void {
  if (pid === undefined) return;
  throw new Error(
    `the cluster in ${layout.dataDir} is already running (process ${pid}): see ${commandText(layout, "status")}`,
  );
}

/** Who wants to know how a start goes. */
interface Listener {
  progress(text: string): void;
  ready(started: Started): void | Promise<void>;
  stopping(): void;
}

/** Runs the cluster in this process until a signal comes. `outputFile` is where this process prints, if that is a file. */
async function run(
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
  // A terminal, npm and the launcher may each pass the same Ctrl-C on: one is enough, and the rest must not kill us.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
    process.on(signal, () => stop.abort(interrupted));
  if (outputFile !== undefined) boundOutput(outputFile, log);
  try {
    const cluster = await startLocalCluster({
      layout,
      config,
      log,
      startAgents: () => agentsCommand(layout, config),
      hardware: simulatedHardware(layout, config, log),
      signal: stop.signal,
      onProgress: (text) => listener.progress(text),
    });
    try {
      recordPhase(layout.processFile, "ready");
      const { config, url, failed } = cluster;
      await listener.ready({ config, url, failed });
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
