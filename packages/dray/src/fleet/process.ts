import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import type { Log } from "@dray/client";
import type { Layout, NodeFiles } from "@dray/cluster";
import { ourselves } from "../ourselves.ts";

/** What the process of the simulated drivers is told, over IPC. */
export type SimulationOrder =
  | {
      readonly order: "run";
      /** As the person named the fleet file. */
      readonly file: string;
      /** Where its text is. */
      readonly path: string;
      readonly kubernetesVersion: string;
      readonly featureGates: string;
      readonly kubeconfig: string;
      readonly nodes: readonly Pick<NodeFiles, "name" | "rootDir">[];
    }
  /** End yourself once no claim is prepared. */
  | { readonly order: "stop" };

/** Milliseconds. */
const restartDelay = 1000;
const stopTimeout = 25_000;

/** The process of all simulated drivers: started again when it fails, until it is told to stop. */
export class SimulationProcess {
  readonly #layout: Layout;
  readonly #run: SimulationOrder & { readonly order: "run" };
  readonly #log: Log;
  #process: ChildProcess | undefined;
  #stopping = false;

  constructor(layout: Layout, run: SimulationOrder & { readonly order: "run" }, log: Log) {
    this.#layout = layout;
    this.#run = run;
    this.#log = log;
    this.#spawn();
  }

  /** Resolves when the process has ended. */
  async stop(): Promise<void> {
    this.#stopping = true;
    const child = this.#process;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exited = new Promise((resolve) => child.once("exit", resolve));
    if (child.connected) child.send({ order: "stop" } satisfies SimulationOrder);
    const timer = setTimeout(() => child.kill("SIGKILL"), stopTimeout);
    await exited;
    clearTimeout(timer);
  }

  #spawn(): void {
    const [command, args] = ourselves([
      "simulated-drivers",
      ...["--log-file", join(this.#layout.logs, "drivers.log")],
    ]);
    // A session of its own: Ctrl-C in a terminal is for the cluster.
    const child = spawn(command, args, { detached: true, stdio: ["ignore", "inherit", "inherit", "ipc"] });
    this.#process = child;
    child.on("error", (error) => this.#log.error({ err: error }, "the simulated drivers cannot be started"));
    child.once("exit", (code, signal) => {
      if (this.#stopping) return;
      this.#log.error({ code, signal }, "the process of the simulated drivers ended: starting it again");
      setTimeout(() => {
        if (!this.#stopping) this.#spawn();
      }, restartDelay);
    });
    child.send(this.#run);
  }
}
