import { Node } from "@dray/api/core/v1";
import type { Client, Informer } from "@dray/client";

/** The newest version of the agent's own Node from writes, reads and the watch. */
export class OwnNode {
  readonly #client: Client;
  readonly #name: string;
  readonly #informer: Informer<Node>;
  #node: Node | undefined;

  constructor(client: Client, name: string) {
    this.#client = client;
    this.#name = name;
    this.#informer = client.informer(Node, { fieldSelector: `metadata.name=${name}` });
    this.#informer.handle({ add: (node) => this.see(node), update: (node) => this.see(node) });
  }

  /** Follows the Node until the signal aborts. */
  follow(signal: AbortSignal): void {
    void this.#informer.start(signal);
  }

  see(node: Node): void {
    if (this.#node === undefined || isNewer(node, this.#node)) this.#node = node;
  }

  /** Throws before the node is registered. */
  get current(): Node {
    if (this.#node === undefined) throw new Error(`node ${this.#name} is not registered yet`);
    return this.#node;
  }

  /** Reads the Node, for decisions in which the watch may be behind the scheduler's. */
  async refresh(): Promise<Node> {
    this.see(await this.#client.resource(Node).get({ name: this.#name }));
    return this.current;
  }
}

/** Revisions compare as integers (KEP-5504); the store counts one revision for all objects. */
function isNewer(a: Node, b: Node): boolean {
  const [newer, older] = [a.metadata.resourceVersion, b.metadata.resourceVersion];
  return newer.length === older.length ? newer > older : newer.length > older.length;
}
