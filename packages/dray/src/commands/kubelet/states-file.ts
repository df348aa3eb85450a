import { rmSync } from "node:fs";
import type { Log } from "@dray/client";
import type { NodeStates } from "@dray/cluster";
import { writeFileAtomicallySync } from "@dray/files";
import type { NodeState } from "@dray/kubelet";

/** Milliseconds for which changes are gathered: of thousands of nodes each start is two. */
const delay = 200;

/** Keeps the file that says how the agents of this process fare, for `dray status` and for people. */
export class StatesFile {
  readonly #path: string;
  readonly #log: Log;
  #nodes: () => readonly NodeState[] = () => [];
  #timer: NodeJS.Timeout | undefined;

  constructor(path: string, log: Log) {
    this.#path = path;
    this.#log = log;
  }

  /** Writes the states that `nodes` returns a moment later. */
  changed(nodes: () => readonly NodeState[]): void {
    this.#nodes = nodes;
    this.#timer ??= setTimeout(() => this.#write(), delay);
  }

  /** Writes what is still to be written now. */
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
