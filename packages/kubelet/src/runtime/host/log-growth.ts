import { closeSync, fstatSync, readSync } from "node:fs";
import { openFile } from "../../base/open-file.ts";

/** Size of a log at a time. */
interface Growth {
  readonly at: number;
  readonly size: number;
}

/** File that records when a log grew: lines of a time in milliseconds and a size in bytes. */
export const timesName = (logPath: string): string => `${logPath}.times`;

const blockBytes = 64 << 10;
/** Two records fit into it. */
const maxRecordsBytes = 128;

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
      else if (!this.#more(offset)) return undefined;
    }
  }

  /** Size in the last record; 0 without one. */
  last(): number {
    const file = this.#opened();
    if (file === undefined) return 0;
    const { size } = fstatSync(file);
    const text = readText(file, Math.max(0, size - maxRecordsBytes), maxRecordsBytes);
    return parsed(text.split("\n").at(-2) ?? "").size;
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
    this.#isAtEnd = true;
  }

  #opened(): number | undefined {
    this.#file ??= openIfThere(timesName(this.#logPath));
    return this.#file;
  }

  /** Replaces the records by the next ones. Returns false at their end. */
  #more(offset: number): boolean {
    if (this.#isAtEnd) return false;
    const file = this.#opened();
    if (file !== undefined && this.#position === 0) this.#position = recordBefore(file, offset);
    const text = file === undefined ? "" : readText(file, this.#position, blockBytes);
    this.#isAtEnd = text === "";
    if (this.#isAtEnd) return false;
    this.#position += text.length;
    const lines = `${this.#rest}${text}`.split("\n");
    this.#rest = lines.pop() ?? "";
    this.#next = 0;
    this.#records = lines.map(parsed);
    return true;
  }
}

function parsed(line: string): Growth {
  const [at = 0, size = 0] = line.split(" ").map(Number);
  return { at, size };
}

function readText(file: number, position: number, bytes: number): string {
  const block = Buffer.allocUnsafe(bytes);
  return block.toString("latin1", 0, readSync(file, block, 0, bytes, position));
}

/** Position of a record at most a block before the one that includes this offset of the log. */
function recordBefore(file: number, offset: number): number {
  let low = 0;
  for (let high = fstatSync(file).size; high - low > blockBytes; ) {
    const middle = Math.floor((low + high) / 2);
    const text = readText(file, middle, maxRecordsBytes);
    const begin = text.indexOf("\n") + 1;
    const end = text.indexOf("\n", begin);
    if (begin > 0 && end > 0 && parsed(text.slice(begin, end)).size <= offset) low = middle + begin;
    else high = middle;
  }
  return low;
}

function openIfThere(path: string): number | undefined {
  try {
    return openFile(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
