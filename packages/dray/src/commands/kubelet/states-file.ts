import { rmSync } from "node:fs";
import type { Log } from "@dray/client";
import type { NodeStates } from "@dray/cluster";
import { writeFileAtomicallySync } from "@dray/files";
import type { NodeState } from "@dray/kubelet";

/** Milliseconds by which changes are delayed and batched: each start changes two states. */
const delay = 200;

/** Writes the file with the states of the agents of this process, for `dray status` and for people. */
export class StatesFile {
  readonly #path: string;
  readonly #log: Log;
  #nodes: () => readonly NodeState[] = () => [];
  #timer: NodeJS.Timeout | undefined;

  constructor(path: string, log: Log) {
    this.#path = path;
    this.#log = log;
  }

  /** Schedules a write of the states that `nodes` returns. */
  changed(nodes: () => readonly NodeState[]): void {
    this.#nodes = nodes;
    this.#timer ??= setTimeout(() => this.#write(), delay);
  }

  /** Writes pending changes now. */
  flush(): void {
    if (this.#timer === undefined) return;
    clearTimeout(this.#timer);
    this.#write();
  }

  close(): void {
    clearTimeout(this.#timer);
    rmSync(this.#path, { force: true });
  }

  #write(): void {
    this.#timer = undefined;
    const states: NodeStates = { pid: process.pid, nodes: this.#nodes() };
    try {
      writeFileAtomicallySync(this.#path, `${JSON.stringify(states)}\n`, { durable: false });
    } catch (error) {
      this.#log.warn({ path: this.#path, err: error }, "the states of the nodes could not be written");
    }
  }
}
