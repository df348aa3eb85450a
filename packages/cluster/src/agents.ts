import type { ChildProcess } from "node:child_process";
import type { Log } from "@dray/client";

/** What the parent says to the process of the node agents, over IPC. */
export type AgentsOrder =
  /** The API server listens: connect. Until then the process only loads its code. */
  | { readonly order: "connect" }
  /** End all pods, then yourself. A process whose parent dies ends alone, and leaves its pods. */
  | { readonly order: "stop" };

/** What it answers: every agent has registered its node. */
export interface AgentsReady {
  readonly ready: true;
}

/** How long the agents may take to end their pods when the cluster stops. */
const patience = 45_000;
const restartDelay = 1_000;

/** The process of all node agents: started again when it fails, until it is told to stop. */
export class AgentsProcess {
  readonly #start: () => ChildProcess;
  readonly #log: Log;
  readonly #ended: (code: number | null, signal: string | null) => void;
  readonly #ready = Promise.withResolvers<void>();
  #process: ChildProcess | undefined;
  #connect = false;
  #stopping = false;

  /** `ended` is called each time that the process ends by itself. */
  constructor(
    start: () => ChildProcess,
    log: Log,
    ended: (code: number | null, signal: string | null) => void = () => {},
  ) {
    this.#start = start;
    this.#log = log;
    this.#ended = ended;
    this.#spawn();
  }

  /** Lets the agents connect. Resolves when all of them have registered their nodes. */
  connect(): Promise<void> {
    this.#connect = true;
    this.#tell({ order: "connect" });
    return this.#ready.promise;
  }

  /** Resolves when the pods and the process have ended. */
  async stop(): Promise<void> {
    this.#stopping = true;
    const child = this.#process;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exited = new Promise((resolve) => child.once("exit", resolve));
    this.#tell({ order: "stop" });
    const timer = setTimeout(() => child.kill("SIGKILL"), patience);
    await exited;
    clearTimeout(timer);
  }

  #spawn(): void {
    const child = this.#start();
    this.#process = child;
    child.once("message", () => this.#ready.resolve());
    child.on("error", (error) => this.#log.error({ err: error }, "the node agents cannot be started"));
    child.once("exit", (code, signal) => {
      if (this.#stopping) return;
      this.#log.error({ code, signal }, "the process of the node agents ended: starting it again");
      try {
        this.#ended(code, signal);
      } catch (error) {
        this.#log.warn({ error }, "the end of the node agents could not be recorded");
      }
      setTimeout(() => {
        if (!this.#stopping) this.#spawn();
      }, restartDelay);
    });
    if (this.#connect) this.#tell({ order: "connect" });
  }

  #tell(order: AgentsOrder): void {
    if (this.#process?.connected) this.#process.send(order);
  }
}
