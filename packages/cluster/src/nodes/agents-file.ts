import {
  type AgentsRecord,
  type ProcessEnd,
  processRecord,
  writeProcessFile,
} from "../process/process-file.ts";
import type { AgentsLife } from "./agents.ts";

/**
 * Keeps the file that names the process of the node agents, or of the simulation, with how often it was
 * started again and why.
 */
export class AgentsFile implements AgentsLife {
  readonly #path: string;
  #record: AgentsRecord | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  started(pid: number): void {
    const before = this.#record;
    this.#write({
      ...processRecord(pid),
      restarts: before === undefined ? 0 : before.restarts + 1,
      ...(before?.lastEnd && { lastEnd: before.lastEnd }),
    });
  }

  ready(): void {
    if (this.#record !== undefined) this.#write({ ...this.#record, phase: "ready" });
  }

  ended(code: number | null, signal: string | null): void {
    if (this.#record === undefined) return;
    const lastEnd: ProcessEnd = { at: new Date().toISOString(), code, signal };
    this.#write({ ...this.#record, lastEnd, ended: true });
  }

  #write(record: AgentsRecord): void {
    this.#record = record;
    writeProcessFile(this.#path, record);
  }
}
