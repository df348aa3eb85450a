import type { Node } from "@dray/api/core/v1";
import { type Clock, type Log, sleep } from "@dray/client";
import { type KubeletClient, kubeletDocument } from "../proxy/kubelet.ts";
import { parseReading } from "./reading.ts";
import { NodeUsage } from "./usage.ts";

/** Minimum interval between two readings, in milliseconds; a younger reading is reused. */
const readingInterval = 5_000;
/** Interval between the first two readings, in milliseconds. */
const firstWindow = 1_000;
/** Maximum age in milliseconds of the reading that a rate is computed from. */
const maxWindow = 60_000;
/**
 * Timeout in milliseconds for the response of one kubelet.
 *
 * Upstream: metrics-server, --metric-resolution and its scrape timeout.
 */
const readingTimeout = 10_000;

export interface CollectorOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly kubelet: KubeletClient;
  nodes(): Iterable<Node>;
}

/**
 * Measures the usage of nodes and pods like metrics-server: the CPU rate between two readings of each
 * kubelet's `/metrics/resource`, and the working set. Kubelets are read on demand, so that an idle cluster
 * has no cost.
 */
export class UsageCollector {
  readonly #options: CollectorOptions;
  #nodes = new Map<string, NodeUsage>();
  /** Start of the newest reading; undefined before the first one. */
  #readAt: number | undefined;
  #underway: Promise<void> | undefined;

  constructor(options: CollectorOptions) {
    this.#options = options;
  }

  /** Resolves when the readings are recent enough. Nodes that do not respond have no usage. */
  async refresh(): Promise<void> {
    this.#underway ??= this.#refresh().finally(() => {
      this.#underway = undefined;
    });
    await this.#underway;
  }

  node(name: string): NodeUsage | undefined {
    return this.#nodes.get(name);
  }

  async #refresh(): Promise<void> {
    const { clock } = this.#options;
    const age = clock.now() - (this.#readAt ?? Number.NEGATIVE_INFINITY);
    if (age < readingInterval) return;
    await this.#read();
    if (age <= maxWindow) return;
    await sleep(clock, firstWindow);
    await this.#read();
  }

  async #read(): Promise<void> {
    const { clock, nodes } = this.#options;
    this.#readAt = clock.now();
    const all = await Promise.all(
      [...nodes()].map(async (node) => [node, await this.#readNode(node)] as const),
    );
    this.#nodes = new Map(all.flatMap(([{ metadata }, usage]) => (usage ? [[metadata.name, usage]] : [])));
  }

  async #readNode(node: Node): Promise<NodeUsage | undefined> {
    const { clock, log, kubelet } = this.#options;
    const { name } = node.metadata;
    const ended = new AbortController();
    const cancel = clock.after(readingTimeout, () => ended.abort());
    try {
      const text = await kubeletDocument(kubelet, node, "/metrics/resource", ended.signal);
      const usage = this.#nodes.get(name) ?? new NodeUsage();
      usage.take(parseReading(text, clock.now()));
      return usage;
    } catch (error) {
      log.debug({ node: name, error }, "the node's kubelet does not say what it uses");
      return undefined;
    } finally {
      cancel();
    }
  }
}
