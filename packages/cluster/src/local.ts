import type { ChildProcess } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, rmdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { StatusError } from "@dray/api";
import { Node } from "@dray/api/core/v1";
import { type Client, type Log, silentLog, systemClock } from "@dray/client";
import { serverAddresses, urlHost } from "./address.ts";
import { AgentsProcess, type FailedAgent, type NodeFiles } from "./agents.ts";
import { AgentsFile } from "./agents-file.ts";
import { type ClusterConfig, readConfig, writeConfig } from "./config.ts";
import { type ControlPlane, startControlPlane } from "./controlplane.ts";
import { ensureCredentials, writeKubeconfigs } from "./credentials.ts";
import { checkOwnFolder, prepareDataDir, prepareRunDir } from "./folders.ts";
import type { Layout } from "./layout.ts";
import { choosePort } from "./port.ts";
import { isAlive, removeProcessFile, runningProcess } from "./process.ts";
import { openStore, parseStore } from "./store.ts";
import { watchStore } from "./watched-store.ts";

/** How long all nodes may take to become ready. */
const readyPatience = 60_000;
/** How long agents that outlived their control plane may take to end before they are killed. */
const orphansPatience = 5_000;

export interface LocalClusterOptions {
  readonly layout: Layout;
  readonly config: ClusterConfig;
  readonly log: Log;
  /** Starts the process of all node agents, with an IPC channel for `AgentsOrder` and `AgentsReport`. */
  startAgents(): ChildProcess;
  /** Aborted: a start that is under way is given up, and rejects once all that it had started has stopped. */
  readonly signal?: AbortSignal;
  /** Called with what is done now, for a person. */
  readonly onProgress?: (text: string) => void;
}

/** A cluster: the control plane in this process, all node agents in another. */
export interface LocalCluster {
  readonly config: ClusterConfig;
  readonly url: string;
  readonly admin: Client;
  /** Nodes that could not be started, and are tried again. */
  readonly failed: readonly FailedAgent[];
  /** Ends the pods, then the agents, then the control plane; removes the run directory. The data stays. */
  stop(): Promise<void>;
}

/** Starts a cluster, or continues the one in the layout's data directory. Resolves when all nodes are ready, but
 * for those that fail. */
export async function startLocalCluster(options: LocalClusterOptions): Promise<LocalCluster> {
  const { layout, log, signal, onProgress = () => {} } = options;
  onProgress("Starting the control plane");
  prepareDataDir(layout);
  const { bindAddress, advertiseAddress } = options.config;
  const config = { ...options.config, port: await choosePort(bindAddress, options.config.port) };
  const addresses = serverAddresses({ bind: bindAddress, advertise: advertiseAddress || undefined });
  prepareRunDir(layout);
  await endFormerAgents(layout);
  const { store, failed: storeFailed } = watchStore(openStore(parseStore(config.store), systemClock));
  const credentials = await ensureCredentials(layout, config.nodes, systemClock.now(), addresses);
  const former = readConfig(layout)?.nodes ?? [];
  writeConfig(layout, config);
  await writeKubeconfigs(
    layout,
    config.name,
    credentials,
    `https://${urlHost(addresses.local)}:${config.port}`,
  );
  const nodes = nodeFiles(layout, config.nodes);
  for (const { rootDir } of nodes) mkdirSync(rootDir, { recursive: true, mode: 0o755 });
  // The agents load their code while the control plane starts.
  const agents = new AgentsProcess(() => options.startAgents(), log, new AgentsFile(layout.agentsFile));
  if (nodes.length > 0) agents.prepare();
  let controlPlane: ControlPlane | undefined;
  let failed: readonly FailedAgent[] = [];
  const stop = async (): Promise<void> => {
    await agents.stop();
    await controlPlane?.stop();
    await store.close();
    await cleanUpRun(layout);
  };
  try {
    controlPlane = await startControlPlane({
      ...config,
      store,
      credentials,
      addresses,
      clock: systemClock,
      log,
    });
    // Nodes of an earlier run still say that they are ready: the agents have the last word.
    await removeNodes(layout, controlPlane.admin, former.slice(config.nodes.length), config.nodes.length);
    const ready = <T>(work: Promise<T>): Promise<T> =>
      inTime(Promise.race([work, storeFailed]), layout, config.nodes, signal);
    if (nodes.length > 0) onProgress(`Starting ${nodes.length === 1 ? "a node" : `${nodes.length} nodes`}`);
    if (nodes.length > 0) failed = await ready(agents.run(nodes));
    if (failed.length > 0 && failed.length === nodes.length)
      throw new Error(
        `no node could be started: ${failed[0]?.node}: ${failed[0]?.reason}; see ${layout.logs}`,
      );
    const sound = config.nodes.filter((name) => !failed.some(({ node }) => node === name));
    await ready(allReady(controlPlane.admin, sound, onProgress));
  } catch (error) {
    await stop();
    throw error;
  }
  return { config, url: controlPlane.url, admin: controlPlane.admin, failed, stop };
}

/** Waits for `work`, a minute at most, and only until the signal is aborted. */
async function inTime<T>(
  work: Promise<T>,
  layout: Layout,
  names: readonly string[],
  signal: AbortSignal | undefined,
): Promise<T> {
  const ended = new AbortController();
  const early = signal === undefined ? ended.signal : AbortSignal.any([signal, ended.signal]);
  const late = async (): Promise<never> => {
    await sleep(readyPatience, undefined, { signal: early }).catch(() => signal?.throwIfAborted());
    throw new Error(
      `nodes ${names.join(", ")} did not become ready within ${readyPatience / 1000} s: see ${layout.logs}`,
    );
  };
  try {
    return await Promise.race([work, late()]);
  } finally {
    ended.abort();
  }
}

function nodeFiles(layout: Layout, names: readonly string[]): NodeFiles[] {
  return names.map((name, index) => ({
    name,
    kubeconfig: layout.nodeKubeconfig(name),
    rootDir: layout.nodeRoot(index),
    tlsCertFile: join(layout.pki, `node-${name}-server.crt`),
    tlsPrivateKeyFile: join(layout.pki, `node-${name}-server.key`),
  }));
}

/** Ends agents that outlived the process which had started them; their pods go on. */
async function endFormerAgents(layout: Layout): Promise<void> {
  const agents = runningProcess(layout.agentsFile);
  if (agents !== undefined) {
    process.kill(agents.pid, "SIGTERM");
    const deadline = performance.now() + orphansPatience;
    while (isAlive(agents)) {
      if (performance.now() > deadline) process.kill(agents.pid, "SIGKILL");
      await sleep(10);
    }
  }
  removeProcessFile(layout.agentsFile);
}

/** Removes nodes that the cluster had and now has no more: what a crash left running, and the objects. */
async function removeNodes(
  layout: Layout,
  client: Client,
  names: readonly string[],
  firstIndex: number,
): Promise<void> {
  for (const [i, name] of names.entries()) {
    const root = layout.nodeRoot(firstIndex + i);
    await (await import("@dray/kubelet")).cleanUpNode(root, silentLog);
    rmSync(root, { recursive: true, force: true });
    try {
      await client.resource(Node).delete({ name });
    } catch (error) {
      if (!StatusError.is(error, "NotFound")) throw error;
    }
  }
}

/** Resolves when every one of the nodes says that it is ready. */
async function allReady(
  client: Client,
  names: readonly string[],
  onProgress: (text: string) => void,
): Promise<void> {
  const waiting = new Set(names);
  if (waiting.size === 0) return;
  const stop = new AbortController();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const nodes = client.informer(Node);
  const see = (node: Node): void => {
    const ready = node.status?.conditions?.some((c) => c.type === "Ready" && c.status === "True");
    if (ready) waiting.delete(node.metadata.name);
    onProgress(`Waiting for the nodes: ${names.length - waiting.size} of ${names.length} are ready`);
    if (waiting.size === 0) resolve();
  };
  nodes.handle({ add: see, update: see });
  nodes.start(stop.signal).catch(reject);
  try {
    await promise;
  } finally {
    stop.abort();
  }
}

/** Removes what nodes of a cluster that no longer runs have left: processes, mounts, sockets, CDI files. */
export async function cleanUpRun(layout: Layout): Promise<void> {
  await endFormerAgents(layout);
  if (!existsSync(layout.runDir)) return;
  // What lies there says which processes to end.
  for (const folder of [dirname(layout.runDir), layout.runDir]) checkOwnFolder(folder);
  const { cleanUpNode } = await import("@dray/kubelet");
  for (const name of readdirSync(layout.runDir)) await cleanUpNode(join(layout.runDir, name), silentLog);
  rmSync(layout.runDir, { recursive: true, force: true });
  try {
    rmdirSync(dirname(layout.runDir));
  } catch {
    // Other clusters have their run directories beside it.
  }
}
