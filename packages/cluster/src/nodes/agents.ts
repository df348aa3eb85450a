import type { ChildProcess } from "node:child_process";
import type { Log } from "@dray/client";

/** A node, and where its agent finds what it needs. */
export interface NodeFiles {
  readonly name: string;
  readonly kubeconfig: string;
  /** The folder that is the node's `/`. */
  readonly rootDir: string;
  readonly tlsCertFile: string;
  readonly tlsPrivateKeyFile: string;
  /** Replaces what the machine has, by resource. */
  readonly capacity?: Readonly<Record<string, string>> | undefined;
}

/** Message of the parent to the process of the node agents, over IPC. */
export type AgentsOrder =
  /**
   * The API server listens, and these are the nodes from now on: new ones are started, the pods of those that
   * are missing end, and then their agents. Before the first such order the process only loads its code.
   */
  | { readonly order: "run"; readonly nodes: readonly NodeFiles[] }
  /** End all pods, then yourself. A process whose parent dies ends alone, and leaves its pods. */
  | { readonly order: "stop" };

/** Its response to each `run`: */
export type AgentsReport =
  /** Another node is registered. */
  | { readonly registered: string }
  /** Every agent has registered its node or failed. */
  | AgentsOutcome;

export interface AgentsOutcome {
  readonly running: readonly string[];
  /** They are started again, and again. */
  readonly failed: readonly FailedAgent[];
}

export interface FailedAgent {
  readonly node: string;
  readonly reason: string;
}

/** How long the agents may take to end their pods when the cluster stops. */
const stopTimeout = 45_000;
const restartDelay = 1_000;

/** Somebody who waits until the agents run for exactly these nodes. */
interface Waiting {
  readonly names: ReadonlySet<string>;
  advance(): void;
  resolve(failed: readonly FailedAgent[]): void;
}

/** Observes the life of the process. */
export interface AgentsLife {
  started(pid: number): void;
  /** All nodes have registered, or failed for the first time. */
  ready(): void;
  /** It ended by itself. */
  ended(code: number | null, signal: string | null): void;
}

/** The process of all node agents: started again when it fails, until it is stopped. */
export class AgentsProcess {
  readonly #start: () => ChildProcess;
  readonly #log: Log;
  readonly #record: AgentsLife;
  #process: ChildProcess | undefined;
  #nodes: readonly NodeFiles[] | undefined;
  #waiting: Waiting[] = [];
  #stopping = false;

  constructor(start: () => ChildProcess, log: Log, record: AgentsLife) {
    this.#start = start;
    this.#log = log;
    this.#record = record;
  }

  /** Starts the process, which only loads its code until it is to run nodes. */
  prepare(): void {
    if (this.#process === undefined) this.#spawn();
  }

  /**
   * Has agents run for these nodes and no others. Resolves when they have registered their nodes, to those
   * that could not, which are started again; `advance` is called for each that is registered.
   */
  run(nodes: readonly NodeFiles[], advance: () => void = () => {}): Promise<readonly FailedAgent[]> {
    this.#nodes = nodes;
    const { promise, resolve } = Promise.withResolvers<readonly FailedAgent[]>();
    this.#waiting.push({ names: new Set(nodes.map(({ name }) => name)), advance, resolve });
    if (this.#process === undefined) this.#spawn();
    else this.#tell({ order: "run", nodes });
    return promise;
  }

  /** Resolves when the pods and the process have ended. */
  async stop(): Promise<void> {
    this.#stopping = true;
    const child = this.#process;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exited = new Promise((resolve) => child.once("exit", resolve));
    this.#tell({ order: "stop" });
    const timer = setTimeout(() => child.kill("SIGKILL"), stopTimeout);
    await exited;
    clearTimeout(timer);
  }

  #spawn(): void {
    const child = this.#start();
    this.#process = child;
    const { pid } = child;
    if (pid !== undefined) this.#keep(() => this.#record.started(pid));
    child.on("message", (report: AgentsReport) => this.#hear(report));
    child.on("error", (error) => this.#log.error({ err: error }, "the node agents cannot be started"));
    child.once("exit", (code, signal) => {
      if (this.#stopping) return;
      this.#log.error({ code, signal }, "the process of the node agents ended: starting it again");
      this.#keep(() => this.#record.ended(code, signal));
      setTimeout(() => {
        if (!this.#stopping) this.#spawn();
      }, restartDelay);
    });
    if (this.#nodes !== undefined) this.#tell({ order: "run", nodes: this.#nodes });
  }

  #hear(report: AgentsReport): void {
    if ("registered" in report) {
      for (const { advance } of this.#waiting) advance();
      return;
    }
    const { running, failed } = report;
    const settled = [...running, ...failed.map(({ node }) => node)];
    const names = new Set(settled);
    if (this.#nodes?.every(({ name }) => names.has(name))) this.#keep(() => this.#record.ready());
    const isMet = ({ names }: Waiting): boolean =>
      names.size === settled.length && settled.every((name) => names.has(name));
    for (const waiting of this.#waiting) if (isMet(waiting)) waiting.resolve(failed);
    this.#waiting = this.#waiting.filter((waiting) => !isMet(waiting));
  }

  /**
   * The disk may be full: the agents go on, and end with this process. Only agents whose control plane is
   * killed before them would not be found.
   */
  #keep(change: () => void): void {
    try {
      change();
    } catch (error) {
      this.#log.warn({ error }, "the state of the node agents could not be recorded");
    }
  }

  #tell(order: AgentsOrder): void {
    if (this.#process?.connected) this.#process.send(order);
  }
}
