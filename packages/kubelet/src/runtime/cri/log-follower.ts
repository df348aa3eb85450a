import { closeSync, fstatSync, lstatSync, readSync } from "node:fs";
import { type Clock, sleep } from "@dray/client";
import { openFile } from "../../base/open-file.ts";
import type { LogLine } from "../service.ts";
import { LogFormat } from "./log-format.ts";

/** Interval in milliseconds at which a reader that follows looks for more. */
const pollInterval = 200;
/** Maximum length of a line of the file, in bytes: runtimes cut lines at 16 KiB. */
const maxLineBytes = 1 << 20;

export interface FollowOptions {
  readonly path: string;
  readonly clock: Clock;
  /** Aborts the waiting; undefined for a reader that does not wait. */
  readonly follow: AbortSignal | undefined;
  /** Returns true when nothing more will be written. */
  ended(): Promise<boolean>;
}

/**
 * Reads the lines of a container's log from the beginning of the file. With `follow` it waits for more until
 * the container has ended; after a rotation, the rest of the old file comes first, then the new one from its
 * beginning. Rejects if the path is not a regular file. A missing log is empty.
 */
export async function* followLog({ path, clock, follow, ended }: FollowOptions): AsyncGenerator<LogLine> {
  const format = new LogFormat();
  let file: LogFile | undefined;
  try {
    for (;;) {
      // Checked before the rest is read, so that everything that was written before the end is read.
      const last = follow === undefined || (await ended());
      file ??= LogFile.open(path);
      if (file !== undefined) {
        for (const line of file.lines()) yield* format.read(line);
        const next = file.isCurrent(path) ? undefined : LogFile.open(path);
        if (next !== undefined) {
          // Written between the last read and the rotation.
          for (const line of file.lines()) yield* format.read(line);
          file.close();
          file = next;
          continue;
        }
      }
      if (last || follow.aborted) break;
      await sleep(clock, pollInterval, follow);
      if (follow.aborted) break;
    }
    yield* format.rest();
  } finally {
    file?.close();
  }
}

/** One file of a log, read from its beginning. */
class LogFile {
  readonly #file: number;
  readonly #inode: bigint;
  #position = 0;
  #rest: Buffer = Buffer.alloc(0);

  private constructor(file: number) {
    this.#file = file;
    this.#inode = fstatSync(file, { bigint: true }).ino;
  }

  /**
   * Returns undefined if the file is missing. A pod may have put a link or a pipe there, which is neither
   * followed nor waited for.
   */
  static open(path: string): LogFile | undefined {
    try {
      return new LogFile(openFile(path));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw error;
    }
  }

  /** False once another file has taken the path; true while no file has it. */
  isCurrent(path: string): boolean {
    const now = lstatSync(path, { bigint: true, throwIfNoEntry: false });
    return now === undefined || now.ino === this.#inode;
  }

  /** Complete lines since the last call. */
  *lines(): Generator<Buffer> {
    const chunk = Buffer.alloc(64 << 10);
    for (;;) {
      const count = readSync(this.#file, chunk, 0, chunk.length, this.#position);
      if (count === 0) return;
      this.#position += count;
      let data = Buffer.concat([this.#rest, chunk.subarray(0, count)]);
      for (let end = data.indexOf(10); end >= 0; end = data.indexOf(10)) {
        yield data.subarray(0, end + 1);
        data = data.subarray(end + 1);
      }
      if (data.length > maxLineBytes) {
        yield data;
        data = Buffer.alloc(0);
      }
      this.#rest = data;
    }
  }

  close(): void {
    closeSync(this.#file);
  }
}
