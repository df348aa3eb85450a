import { closeSync, readSync } from "node:fs";
import { openFile } from "../../base/open-file.ts";

/** Size of a log at a time. */
interface Growth {
  readonly at: number;
  readonly size: number;
}

/** File that records when a log grew: lines of a time in milliseconds and a size in bytes. */
export const timesName = (logPath: string): string => `${logPath}.times`;

const blockBytes = 64 << 10;

/** Reads when a log grew, each record once, as the log is read. */
export class GrowthReader {
  readonly #logPath: string;
  #file: number | undefined;
  #position = 0;
  #rest = "";
  #records: readonly Growth[] = [];
  #next = 0;
  #isAtEnd = false;

  constructor(logPath: string) {
    this.#logPath = logPath;
  }

  /** Looks for new records from now on. */
  refresh(): void {
    this.#isAtEnd = false;
  }

  /**
   * Time of the record that includes the byte at this offset, at least that of the last call. Returns
   * undefined before it is recorded.
   */
  at(offset: number): number | undefined {
    for (;;) {
      const record = this.#records[this.#next];
      if (record !== undefined && record.size > offset) return record.at;
      if (record !== undefined) this.#next++;
      else if (!this.#more()) return undefined;
    }
  }

  /** Size in the last record; 0 without one. */
  last(): number {
    let last = 0;
    while (this.#more()) last = this.#records.at(-1)?.size ?? last;
    return last;
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
    this.#isAtEnd = true;
  }

  /** Replaces the records by the next ones. Returns false at their end. */
  #more(): boolean {
    if (this.#isAtEnd) return false;
    this.#file ??= openIfThere(timesName(this.#logPath));
    const block = Buffer.allocUnsafe(blockBytes);
    const count = this.#file === undefined ? 0 : readSync(this.#file, block, 0, blockBytes, this.#position);
    this.#isAtEnd = count === 0;
    if (this.#isAtEnd) return false;
    this.#position += count;
    const lines = `${this.#rest}${block.toString("latin1", 0, count)}`.split("\n");
    this.#rest = lines.pop() ?? "";
    this.#next = 0;
    this.#records = lines.map((line) => {
      const [at = 0, size = 0] = line.split(" ").map(Number);
      return { at, size };
    });
    return true;
  }
}

function openIfThere(path: string): number | undefined {
  try {
    return openFile(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
