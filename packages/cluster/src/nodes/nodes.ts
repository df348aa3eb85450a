import { rmSync } from "node:fs";
import { join } from "node:path";
import { StatusError } from "@dray/api";
import { Node, Pod } from "@dray/api/core/v1";
import { type Client, type Clock, silentLog, sleep } from "@dray/client";
import { makeFolderSync, removeFolder } from "@dray/files";
import type { Layout } from "../data-dir/layout.ts";
import { ProgressDeadline } from "../process/progress-deadline.ts";
import type { AgentsProcess, FailedAgent, NodeFiles } from "./agents.ts";
import { drainNodes } from "./drain.ts";
import { namesText } from "./names.ts";
import { keepVolumes } from "./volumes.ts";

/** How long the next of the nodes may take to become ready, in milliseconds. */
const readyTimeout = 60_000;

/** How long the agents may take to end nodes that could not be added, in milliseconds. */
const rollbackTimeout = 30_000;

/** Where the agents of these nodes, which are all of the cluster, find what they need. */
export function nodeFiles(layout: Layout, names: readonly string[], capacity: NodeCapacity): NodeFiles[] {
  return names.map((name, index) => ({
    name,
    capacity: capacity(name),
    kubeconfig: layout.nodeKubeconfig(name),
    rootDir: layout.nodeRoot(index),
    tlsCertFile: join(layout.pki, `node-${name}-server.crt`),
    tlsPrivateKeyFile: join(layout.pki, `node-${name}-server.key`),
  }));
}

/** Capacity of a node that replaces the machine's; undefined: the machine's. */
export type NodeCapacity = (node: string) => Readonly<Record<string, string>> | undefined;

export interface StartNodesOptions {
  readonly layout: Layout;
  readonly client: Client;
  readonly agents: AgentsProcess;
  /** All nodes of the cluster from now on. */
  readonly nodes: readonly string[];
  readonly capacity: NodeCapacity;
  /** Rejects when the cluster cannot go on. */
  readonly failed: Promise<never>;
  readonly signal?: AbortSignal | undefined;
  /** Receives progress messages. */
  onProgress(text: string): void;
}

/**
 * Has the agents run for these nodes. Resolves when all of them are ready, to those whose agents could not
 * start; rejects if the next one takes too long.
 */
export async function startNodes(options: StartNodesOptions): Promise<readonly FailedAgent[]> {
  const { layout, client, agents, nodes, capacity, failed, signal, onProgress } = options;
  if (nodes.length === 0) return [];
  const files = nodeFiles(layout, nodes, capacity);
  for (const { name, rootDir } of files) {
    makeFolderSync(rootDir, 0o755);
    keepVolumes(layout, name, rootDir);
  }
  let registered = 0;
  const all = nodes.length === 1 ? "a node" : `${nodes.length} nodes`;
  onProgress(`Starting ${all}`);
  const waiting = new Set(nodes);
  const deadline = new ProgressDeadline({
    timeout: readyTimeout,
    failure: () =>
      new Error(
        `of ${nodes.length} nodes ${namesText([...waiting])} did not become ready within ${readyTimeout / 1000} s: see ${layout.logs}`,
      ),
    signal,
  });
  const ready = async (): Promise<readonly FailedAgent[]> => {
    // Nodes of an earlier run still say that they are ready: the agents have the last word.
    const lost = await agents.run(files, () => {
      deadline.advance();
      onProgress(`Starting ${all}: ${++registered} are registered`);
    });
    for (const { node } of lost) waiting.delete(node);
    if (waiting.size > 0) onProgress(`Waiting for ${namesText([...waiting])} to become ready`);
    await nodesReady(client, waiting, () => {
      deadline.advance();
      onProgress(`Waiting for the nodes: ${nodes.length - waiting.size} of ${nodes.length} are ready`);
    });
    return lost;
  };
  try {
    return await Promise.race([ready(), failed, deadline.exceeded]);
  } finally {
    deadline.stop();
  }
}

/** Resolves when every one of the nodes says that it is ready. Those that do not are in `waiting`. */
export async function nodesReady(client: Client, waiting: Set<string>, advance: () => void): Promise<void> {
  if (waiting.size === 0) return;
  const stop = new AbortController();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const nodes = client.informer(Node);
  const see = (node: Node): void => {
    const ready = node.status?.conditions?.some((c) => c.type === "Ready" && c.status === "True");
    if (ready && waiting.delete(node.metadata.name)) advance();
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

/** A node that a cluster had, and its place among the others, which its files are kept under. */
export interface FormerNode {
  readonly name: string;
  readonly index: number;
}

/** Removes nodes whose agents have ended: what a crash left running, the objects, and their files. */
export async function removeNodes(
  layout: Layout,
  client: Client,
  former: readonly FormerNode[],
): Promise<void> {
  for (const { name, index } of former) {
    await removeNodeRoot(layout, index);
    await client.resource(Node).delete({ name }).catch(ifMissing);
    // No agent is left to report that they have ended. After the node, so that no DaemonSet creates new ones
    // there.
    const { items } = await client.resource(Pod).list({ fieldSelector: `spec.nodeName=${name}` });
    for (const { metadata } of items) {
      const { namespace = "", name, uid } = metadata;
      await client
        .resource(Pod)
        .delete({ namespace, name }, { gracePeriodSeconds: 0, preconditions: { uid } })
        .catch(ifMissing);
    }
    for (const file of [`node-${name}`, `node-${name}-server`])
      for (const suffix of [".crt", ".key"]) rmSync(join(layout.pki, file + suffix), { force: true });
    rmSync(layout.nodeKubeconfig(name), { force: true });
    await removeFolder(layout.nodeVolumes(name));
  }
}

/** Removes the files of the node that had this place, and ends what a crash has left running there. */
export async function removeNodeRoot(layout: Layout, index: number): Promise<void> {
  const { cleanUpNode } = await import("@dray/kubelet");
  const root = layout.nodeRoot(index);
  await cleanUpNode(root, silentLog);
  await removeFolder(root);
}

function ifMissing(error: unknown): void {
  if (!StatusError.is(error, "NotFound") && !StatusError.is(error, "Conflict")) throw error;
}

export interface ChangeNodesOptions extends Omit<StartNodesOptions, "signal" | "onProgress"> {
  readonly clock: Clock;
  /** The nodes that the cluster has. */
  readonly before: readonly string[];
  /** Receives progress messages, a line each. */
  readonly say: (line: string) => void;
  readonly signal: AbortSignal;
  /** Writes keys and kubeconfigs of these nodes, where they are missing. */
  prepare(nodes: readonly string[]): Promise<void>;
  /** Records that these are the nodes of the cluster from now on. */
  record(nodes: readonly string[]): void;
}

/**
 * Adds nodes to a running cluster, or removes the last ones once they are drained. Resolves to what was done.
 * Rejects with everything as it was before, if that is possible.
 */
export async function changeNodes(options: ChangeNodesOptions): Promise<string> {
  const { before, nodes } = options;
  if (nodes.length === before.length) return `the cluster has ${countText(before.length)} already`;
  return nodes.length > before.length ? addNodes(options) : drainAndRemove(options);
}

async function addNodes(options: ChangeNodesOptions): Promise<string> {
  const { layout, client, clock, agents, before, nodes, capacity, say, prepare, record, signal } = options;
  const added = nodes.slice(before.length);
  say(`adding ${namesText(added)}`);
  await prepare(nodes);
  // From here on a cluster that is killed continues with all of them.
  record(nodes);
  try {
    const lost = (await startNodes({ ...options, signal, onProgress: () => {} })).filter(({ node }) =>
      added.includes(node),
    );
    if (lost[0] !== undefined)
      throw new Error(`${lost[0].node} could not be started: ${lost[0].reason}; see ${layout.logs}`);
  } catch (error) {
    // Agents that cannot start may not be able to end either.
    await Promise.race([agents.run(nodeFiles(layout, before, capacity)), sleep(clock, rollbackTimeout)]);
    await removeNodes(layout, client, formerNodes(added, before.length));
    record(before);
    throw error;
  }
  return `${namesText(added)} added: ${countText(nodes.length)}`;
}

async function drainAndRemove(options: ChangeNodesOptions): Promise<string> {
  const { layout, client, clock, agents, before, nodes, capacity, say, record, signal } = options;
  const removed = before.slice(nodes.length);
  say(`draining ${namesText(removed)}`);
  const { evicted, lost } = await drainNodes(removed, { client, clock, say, signal });
  await agents.run(nodeFiles(layout, nodes, capacity));
  await removeNodes(layout, client, formerNodes(removed, nodes.length));
  record(nodes);
  const pods =
    evicted.length === 0
      ? "no pods ran there"
      : evicted.length === 1
        ? "1 pod was evicted"
        : `${evicted.length} pods were evicted`;
  const gone = lost.length === 0 ? "" : `; no controller creates ${namesText(lost)} again`;
  return `${namesText(removed)} removed: ${countText(nodes.length)} (${pods}${gone})`;
}

function formerNodes(names: readonly string[], firstIndex: number): FormerNode[] {
  return names.map((name, i) => ({ name, index: firstIndex + i }));
}

function countText(count: number): string {
  return count === 1 ? "1 node" : `${count} nodes`;
}
