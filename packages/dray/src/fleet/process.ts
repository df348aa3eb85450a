import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import type { Log } from "@dray/client";
import { AgentsFile, type Layout, type NodeFiles, removeProcessFile } from "@dray/cluster";
import { ownCommand } from "../process/own-command.ts";

/** Order for the process of the simulation, over IPC. */
export type SimulationOrder =
  | {
      readonly order: "run";
      readonly kubernetesVersion: string;
      readonly featureGates: string;
      /** See `ClusterConfig`. */
      readonly simulatedNodes?: number | "all";
      /** The devices of a fleet. */
      readonly drivers?: {
        /** The name of the fleet file as the user gave it. */
        readonly file: string;
        /** The path of its content. */
        readonly path: string;
        readonly kubeconfig: string;
        /** Nodes that run containers. */
        readonly nodes: readonly Pick<NodeFiles, "name" | "rootDir">[];
      };
      /** For simulated nodes, which have no kubelets. */
      readonly kubelets?: {
        readonly kubeconfig: string;
        readonly certFile: string;
        readonly keyFile: string;
        readonly clientCAFile: string;
      };
    }
  /** The process ends once all claims are unprepared. */
  | { readonly order: "stop" };

/** Milliseconds. */
const restartDelay = 1000;
const stopTimeout = 25_000;

/** The process of the simulation, drivers and nodes. It is restarted after a failure until it is stopped. */
export class SimulationProcess {
  readonly #layout: Layout;
  readonly #run: SimulationOrder & { readonly order: "run" };
  readonly #log: Log;
  readonly #record: AgentsFile;
  #process: ChildProcess | undefined;
  #stopping = false;

  constructor(layout: Layout, run: SimulationOrder & { readonly order: "run" }, log: Log) {
    this.#layout = layout;
    this.#run = run;
    this.#log = log;
    this.#record = new AgentsFile(layout.simulationFile);
    this.#spawn();
  }

  /** Resolves when the process has ended. */
  async stop(): Promise<void> {
    this.#stopping = true;
    removeProcessFile(this.#layout.simulationFile);
    const child = this.#process;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exited = new Promise((resolve) => child.once("exit", resolve));
    if (child.connected) child.send({ order: "stop" } satisfies SimulationOrder);
    const timer = setTimeout(() => child.kill("SIGKILL"), stopTimeout);
    await exited;
    clearTimeout(timer);
  }

  #spawn(): void {
    const [command, args] = ownCommand([
      "simulation",
      ...["--log-file", join(this.#layout.logs, "drivers.log")],
    ]);
    // A separate session: Ctrl-C in a terminal is for the cluster.
    const child = spawn(command, args, { detached: true, stdio: ["ignore", "inherit", "inherit", "ipc"] });
    this.#process = child;
    const { pid } = child;
    if (pid !== undefined)
      this.#keep(() => {
        this.#record.started(pid);
        this.#record.ready();
      });
    child.on("error", (error) => this.#log.error({ err: error }, "the simulation cannot be started"));
    child.once("exit", (code, signal) => {
      if (this.#stopping) return;
      this.#keep(() => this.#record.ended(code, signal));
      this.#log.error({ code, signal }, "the process of the simulation ended: starting it again");
      setTimeout(() => {
        if (!this.#stopping) this.#spawn();
      }, restartDelay);
    });
    child.send(this.#run);
  }

  /** The disk may be full: the simulation continues, and ends with this process. */
  #keep(change: () => void): void {
    try {
      change();
    } catch (error) {
      this.#log.warn({ error }, "the state of the simulation could not be recorded");
    }
  }
}
