import { systemClock } from "@dray/client";
import type { AgentsOutcome } from "@dray/cluster";
import { type NodeState, type SupervisedNode, superviseNode } from "@dray/kubelet";
import { type AgentOptions, agentOptions, type SharedOptions } from "./node-agent.ts";

/** Maximum number of agents that start at a time, so that the first ones are ready early. */
const maxStarting = 32;

/** The agents of this process, one for each node. A failed agent is restarted without an effect on others. */
export class NodeAgents {
  readonly #shared: SharedOptions;
  readonly #registered: (name: string) => void;
  readonly #agents = new Map<string, SupervisedNode>();
  #change: Promise<unknown> = Promise.resolve();

  /** Calls `registered` for each registered node. */
  constructor(shared: SharedOptions, registered: (name: string) => void = () => {}) {
    this.#shared = shared;
    this.#registered = registered;
  }

  /**
   * Runs agents for exactly these nodes: starts missing ones; of unwanted ones it ends the pods, then the
   * agents. Changes are serialized. Resolves when each node is registered or has failed once.
   */
  run(nodes: readonly AgentOptions[]): Promise<AgentsOutcome> {
    const change = this.#change.then(async () => {
      const wanted = new Set(nodes.map(({ name }) => name));
      const starting = nodes.values();
      await Promise.all([
        ...Array.from({ length: maxStarting }, async () => {
          for (const node of starting) await this.#start(node);
        }),
        ...[...this.#agents.keys()]
          .filter((name) => !wanted.has(name))
          .map((name) => this.#stop(name, false)),
      ]);
      // Written before `run` resolves: the caller may read the states then.
      this.#shared.states?.flush();
      return this.#report();
    });
    this.#change = change;
    return change;
  }

  /** Ends the pods of all nodes as configured for the shutdown of a machine. */
  async shutDown(): Promise<void> {
    await Promise.all([...this.#agents.values()].map((agent) => agent.shutDown()));
  }

  /** Stops all agents; with `leavePods` their pods continue. */
  async stop(leavePods: boolean): Promise<void> {
    await Promise.all([...this.#agents.keys()].map((name) => this.#stop(name, leavePods)));
    this.#shared.states?.close();
    this.#shared.runtime.close();
  }

  #report(): AgentsOutcome {
    const states = this.#states();
    const running = states.filter(({ state }) => state === "running").map(({ node }) => node);
    const failed = states
      .filter(({ state }) => state !== "running")
      .map(({ node, reason = "" }) => ({ node, reason }));
    return { running, failed };
  }

  async #start(node: AgentOptions): Promise<void> {
    if (this.#agents.has(node.name)) return;
    const { log, states } = this.#shared;
    const agent = superviseNode(node.name, () => agentOptions(node, this.#shared), {
      clock: systemClock,
      log,
      changed: () => states?.changed(() => this.#states()),
    });
    this.#agents.set(node.name, agent);
    await agent.settled;
    if (agent.state.state === "running") this.#registered(node.name);
  }

  async #stop(name: string, leavePods: boolean): Promise<void> {
    await this.#agents.get(name)?.stop({ leavePods });
    this.#agents.delete(name);
    this.#shared.states?.changed(() => this.#states());
  }

  #states(): NodeState[] {
    return [...this.#agents.values()].map(({ state }) => state);
  }
}
