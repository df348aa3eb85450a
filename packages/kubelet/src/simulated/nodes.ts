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
  /** A Node has come, or come back. */
  appeared(name: string): void;
  /** Called once, when all nodes that can be are registered. */
  registered(): void;
}

/** Requests at a time: more make the API server no faster, but others wait. */
const concurrency = 64;

/**
 * Keeps the Nodes: creates those that are missing with their status in one request, and says again that they are ready
 * when somebody has said otherwise, as the node lifecycle controller does after an outage.
 */
export class SimulatedNodeObjects {
  readonly #options: SimulatedNodeObjectsOptions;
  readonly #informer: Informer<Node>;
  readonly #queue: WorkQueue;
  readonly #nodes: ReadonlyMap<string, SimulatedNode>;
  readonly #missing: Set<string>;
  /** Nodes that were created here, until the watch has seen them. */
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

  /** Reads the Nodes that are there. */
  async read(signal: AbortSignal): Promise<void> {
    await this.#informer.start(signal);
  }

  /** The port that Nodes of an earlier process name. */
  get formerPort(): number | undefined {
    const named = this.#informer.list().find(({ metadata }) => this.has(metadata.name));
    return named?.status?.daemonEndpoints?.kubeletEndpoint?.Port || undefined;
  }

  /** Keeps the Nodes from now on, until `stop`. */
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
    const node = this.#nodes.get(name)!;
    const found = this.get(name);
    const { client, clock } = this.#options;
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
      // Either our watch is behind, or it is a node that runs containers: that one is left alone.
      const other = await client.resource(Node).get({ name });
      if (other.metadata.labels?.[simulatedLabel] === undefined)
        log.error(
          { node: name },
          `a node of this name exists without the label ${simulatedLabel}: it is left alone`,
        );
      else await this.#written(other);
    }
  }

  /** Own writes are seen before the next look. */
  #written(node: Node): Promise<void> {
    return this.#informer.until(() => hasReached(this.#informer, node));
  }
}
