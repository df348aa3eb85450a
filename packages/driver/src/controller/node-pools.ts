import { StatusError } from "@dray/api";
import { ResourceSlice } from "@dray/api/resource/v1";
import {
  type Client,
  type Clock,
  createWorkQueue,
  hasReached,
  type Informer,
  type Log,
  type WorkQueue,
} from "@dray/client";
import { checkPools } from "../shared/shapes.ts";
import { divide, planPool, type SliceContent } from "../slices/slices.ts";
import { StoredSlices } from "../slices/stored.ts";
import type { Pool } from "../types/driver.ts";
import { PoolError } from "../types/errors.ts";
import { withResourceVersions } from "../versions/client.ts";

export interface NodePoolsOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
  /** The UID of a Node, which owns its slices; undefined while it is not there. */
  nodeUid(node: string): string | undefined;
}

interface WantedPool {
  readonly name: string;
  readonly contents: readonly SliceContent[];
  readonly generation: number | undefined;
}

/** Requests at a time. */
const concurrency = 32;

const keyOf = (driver: string, node: string): string => `${driver}/${node}`;

/**
 * Publishes the pools of many nodes from one process, where no plugin runs on them: with one watch and one
 * queue for all of them, where `runDriver` has those of its node. Slices of others are left alone, be they of
 * the same driver.
 */
export class NodePools {
  readonly #options: NodePoolsOptions;
  readonly #client: Client;
  readonly #informer: Informer<ResourceSlice>;
  readonly #queue: WorkQueue;
  readonly #wanted = new Map<string, readonly WantedPool[]>();
  readonly #stored = new StoredSlices();

  constructor(options: NodePoolsOptions) {
    const { clock, log } = options;
    this.#options = options;
    this.#client = withResourceVersions(options.client, clock);
    this.#informer = this.#client.informer(ResourceSlice, {
      fieldSelector: "spec.nodeName!=",
      indexes: { owner: ({ spec }) => [keyOf(spec.driver, spec.nodeName ?? "")] },
    });
    this.#queue = createWorkQueue({
      name: "node-pools",
      clock,
      log,
      concurrency,
      baseDelay: 500,
      maxDelay: 30_000,
      reconcile: (key) => this.#reconcile(key),
    });
  }

  /** Replaces the pools of a driver on a node. Throws a PoolError if they cannot be published. */
  publish(driver: string, node: string, pools: readonly Pool[]): void {
    checkPools(pools);
    const wanted = pools.map((pool): WantedPool => {
      const { name = node, generation } = pool;
      return { name, contents: divide(pool, { nodeName: node }), generation };
    });
    const twice = wanted.find(({ name }, i) => wanted.findIndex((other) => other.name === name) < i);
    if (twice !== undefined) throw new PoolError(`pool ${JSON.stringify(twice.name)} is there twice`);
    this.#wanted.set(keyOf(driver, node), wanted);
    this.#queue.add(keyOf(driver, node));
  }

  /** The Node has come: what was published for it before waits for that. */
  nodeAppeared(driver: string, node: string): void {
    if (this.#wanted.has(keyOf(driver, node))) this.#queue.add(keyOf(driver, node));
  }

  /** Works until the signal aborts; slices stay then. Resolves when nothing is written any more. */
  async run(signal: AbortSignal): Promise<void> {
    const changed = ({ spec }: ResourceSlice): void => this.nodeAppeared(spec.driver, spec.nodeName ?? "");
    this.#informer.handle({ add: changed, update: changed, delete: changed });
    await this.#informer.start(signal);
    for (const key of this.#wanted.keys()) this.#queue.add(key);
    if (!signal.aborted)
      await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    await this.#queue.close();
  }

  async #reconcile(key: string): Promise<void> {
    if (!this.#informer.synced) return;
    const driver = key.slice(0, key.indexOf("/"));
    const node = key.slice(driver.length + 1);
    const pools = this.#wanted.get(key);
    const uid = this.#options.nodeUid(node);
    if (pools === undefined || uid === undefined) return;
    const existing = this.#informer.byIndex("owner", key);
    for (const slice of existing)
      if (!pools.some(({ name }) => name === slice.spec.pool.name)) await this.#remove(slice);
    for (const pool of pools) await this.#publish(driver, { name: node, uid }, pool, existing);
  }

  async #publish(
    driver: string,
    node: { readonly name: string; readonly uid: string },
    { name, contents, generation }: WantedPool,
    existing: readonly ResourceSlice[],
  ): Promise<void> {
    const plan = planPool({
      ...{ driver, generation, scope: { nodeName: node.name }, pool: name, wanted: contents },
      existing: existing.filter(({ spec }) => spec.pool.name === name),
      same: (content, actual) => this.#stored.same(content, actual),
    });
    const slices = this.#client.resource(ResourceSlice);
    for (const slice of plan.deletes) await this.#remove(slice);
    for (const { slice, spec } of plan.updates)
      await this.#adopt(spec, await slices.update({ ...slice, spec }));
    const ownerReferences = [
      { apiVersion: "v1", kind: "Node", name: node.name, uid: node.uid, controller: true },
    ];
    for (const { generateName, spec } of plan.creates)
      await this.#adopt(spec, await slices.create({ metadata: { generateName, ownerReferences }, spec }));
  }

  /** Resolves when the watch has seen the write: the next look would do it again otherwise. */
  async #adopt(sent: SliceContent, stored: ResourceSlice): Promise<void> {
    const gates = this.#stored.adopt(sent, stored);
    if (gates.length > 0)
      this.#options.log.error(
        { slice: stored.metadata.name, gates },
        "The API server dropped fields of a ResourceSlice: feature gates are off",
      );
    await this.#informer.until(() => hasReached(this.#informer, stored));
  }

  async #remove({ metadata: { name, uid, resourceVersion } }: ResourceSlice): Promise<void> {
    try {
      await this.#client
        .resource(ResourceSlice)
        .delete({ name }, { preconditions: { uid, resourceVersion } });
    } catch (error) {
      if (!StatusError.is(error, "NotFound")) throw error;
    }
    await this.#informer.until(() => this.#informer.get({ name })?.metadata.uid !== uid);
  }
}
