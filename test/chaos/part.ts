import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { Random } from "@dray/testing/random";
import { drayArguments } from "../harness.ts";

/** A part of a cluster that is started again by itself when it is killed. */
export interface ChaosPart {
  readonly name: string;
  /** Kills it, or stops it for a while; returns which. */
  disturb(random: Random): "kills" | "freezes";
}

/** Sends a signal to a process that may be gone. */
export function killQuietly(pid: number | undefined, signal: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(pid, signal);
  } catch {
    // It is gone.
  }
}

/** Stops a process for longer or shorter than a lease lasts. */
function freeze(pid: number | undefined, random: Random): void {
  killQuietly(pid, "SIGSTOP");
  setTimeout(() => killQuietly(pid, "SIGCONT"), 1000 * (1 + random.below(25)));
}

export interface ProcessPartOptions {
  readonly name: string;
  /** Arguments of `dray`. */
  readonly args: readonly string[];
  /** File of its output. */
  readonly logFile: string;
  /** Sent over IPC when it starts. */
  readonly order?: object;
  /** Most milliseconds that it stays away when it is killed. */
  readonly maxAway: number;
  /** False: it is only killed. */
  readonly freezes: boolean;
  /** Called when it is killed or stopped, with the milliseconds until others or itself go on. */
  disturbed?(milliseconds: number): void;
}

/** A process of `dray` that is started again when it ends. */
export class ProcessPart implements ChaosPart {
  readonly name: string;
  readonly #options: ProcessPartOptions;
  #process: ChildProcess | undefined;
  #away = 1000;
  #stopping = false;

  constructor(options: ProcessPartOptions) {
    this.name = options.name;
    this.#options = options;
    this.#start();
  }

  get pid(): number | undefined {
    const { exitCode, signalCode, pid } = this.#process ?? {};
    return exitCode === null && signalCode === null ? pid : undefined;
  }

  disturb(random: Random): "kills" | "freezes" {
    const { freezes, maxAway } = this.#options;
    if (freezes && random.chance(0.3)) {
      this.#options.disturbed?.(25_000);
      freeze(this.pid, random);
      return "freezes";
    }
    this.#away = 1000 + random.below(maxAway);
    this.#options.disturbed?.(this.#away);
    killQuietly(this.pid, "SIGKILL");
    return "kills";
  }

  #start(): void {
    const { args, logFile, order } = this.#options;
    const output = openSync(logFile, "a", 0o600);
    const child = spawn(process.execPath, [...drayArguments, ...args], {
      stdio: ["ignore", output, output, "ipc"],
    });
    closeSync(output);
    child.on("error", () => {});
    if (order !== undefined) child.send(order);
    this.#process = child;
    child.once("exit", () => {
      const away = this.#away;
      this.#away = 1000;
      setTimeout(() => {
        if (!this.#stopping) this.#start();
      }, away);
    });
  }

  /** Ends it for good; by force if it takes too long. */
  async stop(order?: object): Promise<void> {
    this.#stopping = true;
    const { pid } = this;
    if (pid === undefined) return;
    killQuietly(pid, "SIGCONT");
    if (order !== undefined && this.#process?.connected) this.#process.send(order);
    else killQuietly(pid, "SIGTERM");
    const deadline = performance.now() + 40_000;
    while (this.pid !== undefined && performance.now() < deadline) await sleep(50);
    killQuietly(this.pid, "SIGKILL");
  }
}
