import type { ChildProcess } from "node:child_process";
import { existsSync, readdirSync, rmdirSync } from "node:fs";
import type { Server } from "node:net";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Client, type Log, silentLog, systemClock } from "@dray/client";
import { removeFolder } from "@dray/files";
import { type ControlPlane, startControlPlane } from "./control-plane/control-plane.ts";
import {
  type CredentialOptions,
  type Credentials,
  ensureCredentials,
  writeKubeconfigs,
  writeNodeKubeconfigs,
} from "./credentials/credentials.ts";
import { type ClusterConfig, readConfig, writeConfig } from "./data-dir/config.ts";
import { checkOwnFolder, prepareDataDir, prepareRunDir } from "./data-dir/folders.ts";
import type { Layout } from "./data-dir/layout.ts";
import { type ServerAddresses, serverAddresses, urlHost } from "./network/address.ts";
import { choosePort } from "./network/port.ts";
import { claimServiceRange } from "./network/service-range.ts";
import { nodeAddresses, releaseAddresses } from "./nodes/addresses.ts";
import { AgentsProcess, type FailedAgent, type NodeFiles } from "./nodes/agents.ts";
import { AgentsFile } from "./nodes/agents-file.ts";
import { checkCapacity } from "./nodes/capacity.ts";
import { endDrains } from "./nodes/drain.ts";
import { nodeNames } from "./nodes/names.ts";
import {
  changeNodes,
  nodeFiles,
  removeNodeRoot,
  removeNodes,
  type StartNodesOptions,
  startNodes,
} from "./nodes/nodes.ts";
import { removeLostVolumes } from "./nodes/volumes.ts";
import { serveControl } from "./process/control.ts";
import { isAlive, removeProcessFile, runningProcess } from "./process/process-file.ts";
import { checkStoreFile, openStore, parseStore } from "./store/open.ts";
import { checkStoreIsThere, checkStoreVersion, recordNewStore, recordStoreVersion } from "./store/version.ts";
import { watchStore } from "./store/watched.ts";

/** How long agents that outlived their control plane may take to end before they are killed. */
const orphansTimeout = 5_000;

export interface LocalClusterOptions {
  readonly layout: Layout;
  readonly config: ClusterConfig;
  readonly log: Log;
  /** Starts the process of all node agents, with an IPC channel for `AgentsOrder` and `AgentsReport`. */
  startAgents(): ChildProcess;
  /** Simulated hardware of the nodes; undefined without it. */
  readonly hardware?: NodeHardware;
  /** Aborted: a start that is under way is given up, and rejects once all that it had started has stopped. */
  readonly signal?: AbortSignal;
  /** Called with what is done now, for a person. */
  readonly onProgress?: (text: string) => void;
}

/** Hardware that nodes have as a file says. */
export interface NodeHardware {
  /** Capacity of a node that replaces the machine's; undefined: the machine's. */
  capacity(node: string): Readonly<Record<string, string>> | undefined;
  /** Begins when the API server responds. The nodes may not be registered yet. */
  start(admin: Client, nodes: readonly NodeFiles[]): Promise<RunningHardware>;
}

export interface RunningHardware {
  /** Resolves when the nodes that it simulates are ready. Rejects if that takes too long. */
  ready(onProgress: (text: string) => void): Promise<void>;
  /** Called when the pods have ended: their claims are unprepared by then. */
  stop(): Promise<void>;
}

/** A cluster: the control plane in this process, all node agents in another. */
export interface LocalCluster {
  readonly config: ClusterConfig;
  readonly url: string;
  readonly admin: Client;
  /** Nodes that could not be started, and are tried again. */
  readonly failed: readonly FailedAgent[];
  /** Sentences about what the start has changed, for the user. */
  readonly notes: readonly string[];
  /** Ends the pods, then the agents, then the control plane; removes the run directory. The data stays. */
  stop(): Promise<void>;
}

/**
 * Starts a cluster, or continues the one in the layout's data directory. Resolves when all nodes are ready,
 * but for those that fail.
 */
export async function startLocalCluster(options: LocalClusterOptions): Promise<LocalCluster> {
  const { layout, log, signal, onProgress = () => {} } = options;
  onProgress("Starting the control plane");
  prepareDataDir(layout);
  const before = readConfig(layout);
  const { config, addresses, range } = await settleAddresses(options, before);
  // Containers that another runtime left after a crash cannot be adopted.
  if (before !== undefined && before.runtime !== config.runtime) await cleanUpRun(layout);
  prepareRunDir(layout);
  await endFormerAgents(layout);
  const { store, failed: storeFailed } = await openClusterStore(layout, config, before);
  const notes: string[] = [];
  const onRenewed = (text: string): void => {
    notes.push(text);
    log.warn({}, text);
  };
  const credentials = await credentialsOf(layout, config, { addresses, onRenewed });
  const former = (before?.nodes ?? []).map((name, index) => ({ name, index }));
  // Nodes that are to go are named until they are gone.
  const gone = former.filter(({ name }) => !config.nodes.includes(name));
  writeConfig(layout, { ...config, nodes: [...config.nodes, ...gone.map(({ name }) => name)] });
  const url = `https://${urlHost(addresses.local)}:${config.port}`;
  await writeKubeconfigs(layout, config.name, credentials, url);
  // The agents load their code while the control plane starts.
  const agents = new AgentsProcess(() => options.startAgents(), log, new AgentsFile(layout.agentsFile));
  if (config.nodes.length > 0) agents.prepare();
  let controlPlane: ControlPlane | undefined;
  let control: Server | undefined;
  let hardware: RunningHardware | undefined;
  let failed: readonly FailedAgent[] = [];
  const stop = async (): Promise<void> => {
    control?.close();
    await agents.stop();
    await hardware?.stop();
    await controlPlane?.stop();
    await store.close();
    await cleanUpRun(layout);
    await releaseAddresses(layout, config);
    range?.release();
  };
  try {
    controlPlane = await startControlPlane({
      ...config,
      // Another cluster may have the range by now, and another runtime has another one.
      renumbersServices: range !== undefined || before?.serviceRange !== undefined,
      store,
      credentials,
      addresses,
      clock: systemClock,
      log,
      signal,
    });
    const { admin: client } = controlPlane;
    const olderVersion = await recordStoreVersion(store, config.kubernetesVersion);
    if (olderVersion !== undefined)
      log.info(
        { olderVersion },
        `the objects are those of Kubernetes ${config.kubernetesVersion} from now on`,
      );
    await removeNodes(layout, client, gone);
    // Leftovers of a crash belong to a node that has another place now.
    for (const { name, index } of former)
      if (config.nodes.includes(name) && config.nodes[index] !== name) await removeNodeRoot(layout, index);
    writeConfig(layout, config);
    // Another store may still have the volumes.
    if (before?.store === config.store) await removeLostVolumes(layout, client);
    await endDrains(client);
    const capacity = (node: string) => options.hardware?.capacity(node);
    hardware = await options.hardware?.start(client, nodeFiles(layout, config.nodes, capacity));
    const common = { layout, client, agents, capacity, failed: storeFailed };
    failed = await startNodes({ ...common, nodes: config.nodes, signal, onProgress });
    if (failed.length > 0 && failed.length === config.nodes.length)
      throw new Error(
        `no node could be started: ${failed[0]?.node}: ${failed[0]?.reason}; see ${layout.logs}`,
      );
    await Promise.race([hardware?.ready(onProgress), storeFailed]);
    signal?.throwIfAborted();
    const change = nodeChanger({ layout, config, url, addresses, start: common, signal });
    let changed: Promise<unknown> = Promise.resolve();
    control = await serveControl(layout.controlSocket, ({ nodes }, say, gone) => {
      // One change after the other: each begins with what the one before it has left.
      const result = changed.then(() => change(nodes, say, gone));
      changed = result.catch(() => {});
      return result;
    });
  } catch (error) {
    await stop();
    throw error;
  }
  return { config, url, admin: controlPlane.admin, failed, notes, stop };
}

/**
 * Chooses what is left to choose: the port of the API server, and on the runtime host, where the addresses of
 * Services are the machine's, their range.
 */
async function settleAddresses({ layout, config: given }: LocalClusterOptions, before?: ClusterConfig) {
  const { bindAddress, advertiseAddress, runtime } = given;
  const range =
    runtime === "host" ? await claimServiceRange(layout.dataDir, before?.serviceRange) : undefined;
  const { serviceRange: _, ...rest } = given;
  const config: ClusterConfig = {
    ...rest,
    port: await choosePort(bindAddress, given.port),
    ...(range && { serviceRange: range.cidr }),
  };
  const addresses = serverAddresses({
    bind: bindAddress,
    advertise: advertiseAddress || undefined,
    also: range && [range.first],
  });
  return { config, addresses, range };
}

/**
 * Opens the store of a cluster. Throws if it is not the one that the cluster had, or one of a newer release.
 */
async function openClusterStore(
  layout: Layout,
  config: ClusterConfig,
  before: ClusterConfig | undefined,
): Promise<ReturnType<typeof watchStore>> {
  const hadStore = before?.store === config.store && config.store !== "memory";
  // SQLite takes an empty file for a new database, and removes the journal that belonged to the former one.
  if (hadStore) checkStoreFile(parseStore(config.store), layout.dataDir);
  const watched = watchStore(openStore(parseStore(config.store), systemClock));
  const { store } = watched;
  try {
    await checkStoreVersion(store, config.kubernetesVersion);
    if (hadStore) await checkStoreIsThere(store, layout.dataDir);
    // Before the settings are written: with them a store without this record has lost its objects.
    else await recordNewStore(store, config.kubernetesVersion);
  } catch (error) {
    await store.close();
    await cleanUpRun(layout);
    throw error;
  }
  return watched;
}

/** Credentials of a cluster with these nodes. */
async function credentialsOf(
  layout: Layout,
  config: ClusterConfig,
  options: CredentialOptions,
): Promise<Credentials> {
  return ensureCredentials(layout, config.nodes, systemClock.now(), {
    ...options,
    nodeAddresses: await nodeAddresses(layout, config, config.nodes),
  });
}

interface NodeChangerOptions {
  readonly layout: Layout;
  readonly config: ClusterConfig;
  readonly url: string;
  readonly addresses: ServerAddresses;
  readonly start: Pick<StartNodesOptions, "layout" | "client" | "agents" | "capacity" | "failed">;
  readonly signal: AbortSignal | undefined;
}

/**
 * Changes the number of nodes of a cluster that runs. `gone` aborts when the caller does not wait for the
 * change any more.
 */
function nodeChanger({ layout, config, url, addresses, start, signal }: NodeChangerOptions) {
  return async (count: number, say: (line: string) => void, gone: AbortSignal): Promise<string> => {
    gone.throwIfAborted();
    const before = (readConfig(layout) ?? config).nodes;
    if (config.fleet !== undefined && count !== before.length)
      throw new Error(`the nodes are those of ${config.fleet}, which has ${before.length}`);
    checkCapacity({ nodes: count, running: before.length });
    return changeNodes({
      ...start,
      clock: systemClock,
      before,
      nodes: count === before.length ? before : nodeNames(count),
      say,
      signal: signal === undefined ? gone : AbortSignal.any([gone, signal]),
      prepare: async (names) => {
        const all = await credentialsOf(layout, { ...config, nodes: names }, { addresses });
        await writeNodeKubeconfigs(layout, { name: config.name, url }, all, names.slice(before.length));
      },
      record: (names) => writeConfig(layout, { ...(readConfig(layout) ?? config), nodes: names }),
    });
  };
}

/** Ends agents that outlived the process which had started them; their pods go on. */
async function endFormerAgents(layout: Layout): Promise<void> {
  const agents = runningProcess(layout.agentsFile);
  if (agents !== undefined) {
    process.kill(agents.pid, "SIGTERM");
    const deadline = performance.now() + orphansTimeout;
    while (isAlive(agents)) {
      if (performance.now() > deadline) process.kill(agents.pid, "SIGKILL");
      await sleep(10);
    }
  }
  removeProcessFile(layout.agentsFile);
}

/** Removes what nodes of a cluster that no longer runs have left: processes, mounts, sockets, CDI files. */
export async function cleanUpRun(layout: Layout): Promise<void> {
  await endFormerAgents(layout);
  if (!existsSync(layout.runDir)) return;
  // Files of the folder name the processes to end.
  for (const folder of [dirname(layout.runDir), layout.runDir]) checkOwnFolder(folder);
  const { cleanUpNode } = await import("@dray/kubelet");
  const failures: string[] = [];
  for (const entry of readdirSync(layout.runDir, { withFileTypes: true })) {
    const root = join(layout.runDir, entry.name);
    // A node that cannot be cleaned up does not stop the clean-up of the others.
    if (entry.isDirectory())
      await cleanUpNode(root, silentLog).catch((error: Error) => failures.push(`${root}: ${error.message}`));
  }
  if (failures.length > 0) throw new Error(`what nodes have left cannot be removed: ${failures.join("; ")}`);
  await removeFolder(layout.runDir);
  try {
    rmdirSync(dirname(layout.runDir));
  } catch {
    // Other clusters have their run directories beside it.
  }
}
