import type { Kubelet } from "@dray/kubelet";
import { type AgentOptions, type SharedOptions, startAgent } from "./node-agent.ts";

/** The agents of this process, one for each node. */
export class NodeAgents {
  readonly #shared: SharedOptions;
  readonly #agents = new Map<string, Promise<Kubelet>>();
  #change: Promise<unknown> = Promise.resolve();

  constructor(shared: SharedOptions) {
    this.#shared = shared;
  }

  /**
   * Has agents run for these nodes and no others: starts those that are missing, ends the pods and then the agents of
   * those that are not wanted. Changes happen one after the other. Resolves to the names of the nodes that are
   * registered then; why another one is not is in the log.
   */
  run(nodes: readonly AgentOptions[]): Promise<string[]> {
    const change = this.#change.then(async () => {
      const wanted = new Set(nodes.map(({ name }) => name));
      await Promise.all([
        ...nodes.map((node) => this.#start(node)),
        ...[...this.#agents.keys()]
          .filter((name) => !wanted.has(name))
          .map((name) => this.#stop(name, false)),
      ]);
      return [...this.#agents.keys()];
    });
    this.#change = change;
    return change;
  }

  /** Stops all agents; with `leavePods` their pods go on. */
  async stop(leavePods: boolean): Promise<void> {
    await Promise.all([...this.#agents.keys()].map((name) => this.#stop(name, leavePods)));
  }

  async #start(node: AgentOptions): Promise<void> {
    if (this.#agents.has(node.name)) return;
    const agent = startAgent(node, this.#shared);
    this.#agents.set(node.name, agent);
    try {
      await agent;
    } catch (error) {
      this.#agents.delete(node.name);
      this.#shared.log.error({ node: node.name, error }, "the node agent cannot start");
    }
  }

  async #stop(name: string, leavePods: boolean): Promise<void> {
    const agent = await this.#agents.get(name);
    await agent?.stop({ leavePods });
    this.#agents.delete(name);
  }
}
