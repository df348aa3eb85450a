import { StatusError } from "@dray/api";
import { Node } from "@dray/api/core/v1";
import {
  type Client,
  type Clock,
  createWorkQueue,
  hasReached,
  type Informer,
  type Log,
  type WorkQueue,
} from "@dray/client";
import type { LeaseWheel } from "./leases.ts";
import {
  type NodeSurroundings,
  nodeLabels,
  nodeStatus,
  type SimulatedNode,
  saysSo,
  simulatedLabel,
} from "./node-object.ts";

export interface SimulatedNodeObjectsOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
  readonly nodes: readonly SimulatedNode[];
  readonly leases: LeaseWheel;
  /** Called when a Node was created, or created again. */
  appeared(name: string): void;
  /** Called once all nodes are registered. */
  registered(): void;
}

/** Maximum number of concurrent requests: more would only delay others. */
const concurrency = 64;

/**
 * Creates missing Nodes, with their status in one request, and resets conditions that other components have
 * changed, as the node lifecycle controller does after an outage.
 */
export class SimulatedNodeObjects {
  readonly #options: SimulatedNodeObjectsOptions;
  readonly #informer: Informer<Node>;
  readonly #queue: WorkQueue;
  readonly #nodes: ReadonlyMap<string, SimulatedNode>;
  readonly #missing: Set<string>;
  /** Nodes that were created here and are not in the watch yet. */
  readonly #created = new Set<string>();
  #surroundings: NodeSurroundings | undefined;

  constructor(options: SimulatedNodeObjectsOptions) {
    const { client, clock, log, nodes } = options;
    this.#options = options;
    this.#nodes = new Map(nodes.map((node) => [node.name, node]));
    this.#missing = new Set(this.#nodes.keys());
    this.#informer = client.informer(Node, { labelSelector: simulatedLabel });
    this.#queue = createWorkQueue({
      name: "simulated-nodes",
      clock,
      log,
      concurrency,
      baseDelay: 200,
      maxDelay: 10_000,
      reconcile: (name) => this.#reconcile(name),
    });
  }

  has(name: string): boolean {
    return this.#nodes.has(name);
  }

  get(name: string): Node | undefined {
    return this.#informer.get({ name });
  }

  /** Reads existing Nodes. */
  async read(signal: AbortSignal): Promise<void> {
    await this.#informer.start(signal);
  }

  /** Port in Nodes of an earlier process. */
  get formerPort(): number | undefined {
    const named = this.#informer.list().find(({ metadata }) => this.has(metadata.name));
    return named?.status?.daemonEndpoints?.kubeletEndpoint?.Port || undefined;
  }

  /** Maintains the Nodes until `stop`. */
  start(surroundings: NodeSurroundings): void {
    this.#surroundings = surroundings;
    this.#informer.handle({
      add: (node) => this.#see(node),
      update: (node) => this.#see(node),
      delete: ({ metadata }) => {
        this.#options.leases.delete(metadata.name);
        if (this.has(metadata.name)) this.#queue.add(metadata.name);
      },
    });
    for (const name of this.#nodes.keys()) this.#queue.add(name);
    if (this.#nodes.size === 0) this.#options.registered();
  }

  async stop(): Promise<void> {
    await this.#queue.close();
  }

  #see({ metadata }: Node): void {
    const { name, uid } = metadata;
    if (!this.has(name)) return;
    this.#options.leases.add(name, uid, this.#created.delete(name));
    this.#options.appeared(name);
    this.#queue.add(name);
  }

  async #reconcile(name: string): Promise<void> {
    // The queue gets only names of `#nodes`.
    const node = this.#nodes.get(name)!;
    const found = this.get(name);
    const { client, clock } = this.#options;
    // `start` has set it, and starts the queue.
    const status = nodeStatus(node, this.#surroundings!, clock.now(), found?.status);
    if (found === undefined) await this.#create(node, status);
    else if (!saysSo(found, status))
      await this.#written(
        await client.resource(Node).patch({ name }, "strategic", { status }, { subresource: "status" }),
      );
    if (this.#missing.delete(name) && this.#missing.size === 0) this.#options.registered();
  }

  async #create(node: SimulatedNode, status: Node["status"]): Promise<void> {
    const { client, log } = this.#options;
    const { name } = node;
    const metadata = {
      name,
      labels: nodeLabels(node),
      annotations: { [simulatedLabel]: "No containers run here: pods of this node only say that they run." },
    };
    try {
      await this.#written(
        await client.resource(Node).create({ metadata, spec: {}, ...(status && { status }) }),
      );
    } catch (error) {
      this.#created.delete(name);
      if (!StatusError.is(error, "AlreadyExists")) throw error;
      // Either the watch is behind, or the node runs containers, and must not be changed.
      const other = await client.resource(Node).get({ name });
      if (other.metadata.labels?.[simulatedLabel] === undefined)
        log.error(
          { node: name },
          `a node of this name exists without the label ${simulatedLabel}: it is left alone`,
        );
      else await this.#written(other);
    }
  }

  /** Resolves when the watch has the written object. */
  #written(node: Node): Promise<void> {
    return this.#informer.until(() => hasReached(this.#informer, node));
  }
}
