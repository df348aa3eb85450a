import { closeSync, fstatSync, openSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { makeFolderSync } from "@dray/files";
import { defaultLimits, type LogLimits, shiftFiles } from "./rotate.ts";

/** Takes whole lines. Never throws: a failing log must not end the program. */
export interface Destination {
  write(line: string): void;
  /** Number of dropped lines. */
  readonly dropped: number;
}

/** Makes the line that reports how many lines are missing at its place, and why. */
export type DroppedLine = (count: number, reason: string) => string;

/** Milliseconds for which a pipe without a reader may block its writer, for each line. */
const pipeTimeout = 10;

/** Writes to an open descriptor, and counts the lines that cannot be written, until it accepts one again. */
class Writer {
  readonly #droppedLine: DroppedLine;
  /** Dropped since the last line that was written. */
  #missing = 0;
  #reason = "";
  /** The last line was written in part: the next one starts with a line end. */
  #torn = false;
  dropped = 0;

  constructor(droppedLine: DroppedLine) {
    this.#droppedLine = droppedLine;
  }

  /** Returns the number of written bytes. */
  write(descriptor: number, line: string): number {
    const note = this.#missing === 0 ? "" : this.#droppedLine(this.#missing, this.#reason);
    const bytes = Buffer.from(`${this.#torn ? "\n" : ""}${note}${line}`);
    let written = 0;
    try {
      while (written < bytes.length) written += writeWaiting(descriptor, bytes, written);
      this.#missing = 0;
      this.#torn = false;
    } catch (error) {
      if (written > 0) this.#torn = true;
      this.drop(error);
    }
    return written;
  }

  /** Counts a line without a destination. */
  drop(error: unknown): void {
    this.#missing++;
    this.dropped++;
    this.#reason = (error as Error).message;
  }
}

/** Retries on a full pipe: a slow reader makes room soon, a missing one does not. */
function writeWaiting(descriptor: number, bytes: Buffer, from: number): number {
  for (let waited = 0; ; waited++) {
    try {
      return writeSync(descriptor, bytes, from);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN" || waited === pipeTimeout) throw error;
      Atomics.wait(clock, 0, 0, 1);
    }
  }
}

const clock = new Int32Array(new SharedArrayBuffer(4));

/** Standard error. */
export function errorOutput(droppedLine: DroppedLine): Destination {
  const writer = new Writer(droppedLine);
  return {
    write: (line) => void writer.write(2, line),
    get dropped() {
      return writer.dropped;
    },
  };
}

/**
 * A file that always has the name `path`; a full one becomes `path.1`. Throws if it cannot be opened. Drops
 * lines while the disk is full, and reports their number afterwards.
 */
export function logFile(
  path: string,
  droppedLine: DroppedLine,
  limits: LogLimits = defaultLimits,
): Destination {
  const writer = new Writer(droppedLine);
  let descriptor: number | undefined;
  let size = 0;
  const open = (): number => {
    descriptor = openSync(path, "a", 0o600);
    ({ size } = fstatSync(descriptor));
    return descriptor;
  };
  makeFolderSync(dirname(path), 0o700);
  open();
  const rotate = (): void => {
    shiftFiles(path, limits);
    if (descriptor !== undefined) closeSync(descriptor);
    descriptor = undefined;
  };
  return {
    write(line) {
      try {
        if (size > 0 && size + Buffer.byteLength(line) > limits.maxSize) rotate();
        // A new file starts with its own size.
        const written = writer.write(descriptor ?? open(), line);
        size += written;
      } catch (error) {
        writer.drop(error);
      }
    },
    get dropped() {
      return writer.dropped;
    },
  };
}
