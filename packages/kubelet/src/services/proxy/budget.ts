import { readFileSync } from "node:fs";

/**
 * Part of the process's files that the proxy may use: the agent needs the others. Both sides of a connection
 * are one unit.
 */
export class SocketBudget {
  readonly max: number;
  #used = 0;

  constructor(max: number) {
    this.max = max;
  }

  get used(): number {
    return this.#used;
  }

  /** Returns false if nothing is left. */
  take(): boolean {
    if (this.#used >= this.max) return false;
    this.#used++;
    return true;
  }

  free(): void {
    this.#used--;
  }
}

/** Limit where the system does not tell: the usual one for a user. */
const usualLimit = 1024;

/** Units of sockets: a quarter of the files that this process may open, for connections and for listeners. */
export function socketUnits(): number {
  return Math.floor(openFilesLimit() / 8);
}

function openFilesLimit(): number {
  try {
    const limit = /^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1];
    return limit === undefined ? usualLimit : Number(limit);
  } catch {
    return usualLimit;
  }
}
