import { closeSync, fstatSync, lstatSync, readSync } from "node:fs";
import { type Clock, sleep } from "@dray/client";
import { EventLoopShare } from "../../base/event-loop-share.ts";
import { openFile } from "../../base/open-file.ts";
import { tailStart } from "../log-tail.ts";
import type { LogLine, ReadLogOptions } from "../service.ts";
import { LogFormat } from "./log-format.ts";

/** Interval in milliseconds at which a reader that follows looks for more. */
const pollInterval = 200;
/** Maximum length of a line of the file, in bytes: runtimes cut lines at 16 KiB. */
const maxLineBytes = 1 << 20;

export interface FollowOptions extends ReadLogOptions {
  readonly path: string;
  readonly clock: Clock;
  /** Returns true when nothing more will be written. */
  ended(): Promise<boolean>;
}

/**
 * Reads the lines of a container's log, the last `tail` ones or all. With `follow` it waits for more until
 * the container has ended; after a rotation, the rest of the old file comes first, then the new one from its
 * beginning. Rejects if the path is not a regular file. A missing log is empty.
 */
export async function* followLog(options: FollowOptions): AsyncGenerator<readonly LogLine[]> {
  const { path, clock, follow, tail, ended } = options;
  const share = new EventLoopShare(1);
  const read = async function* (file: LogFile): AsyncGenerator<readonly LogLine[]> {
    for (const lines of file.blocks()) {
      const found = lines.flatMap((line) => [...format.read(line)]);
      if (found.length > 0) yield found;
      await share.step();
    }
  };
  const format = new LogFormat();
  let file: LogFile | undefined;
  try {
    for (;;) {
      // Checked before the rest is read, so that everything that was written before the end is read.
      const last = follow === undefined || (await ended());
      file ??= await openTail(path, tail);
      if (file !== undefined) {
        yield* read(file);
        const next = follow === undefined || file.isCurrent(path) ? undefined : LogFile.open(path);
        if (next !== undefined) {
          // Written between the last read and the rotation.
          yield* read(file);
          file.close();
          file = next;
          continue;
        }
      }
      if (last || follow.aborted) break;
      await sleep(clock, pollInterval, follow);
      if (follow.aborted) break;
    }
    const rest = [...format.rest()];
    if (rest.length > 0) yield rest;
  } finally {
    file?.close();
  }
}

/** Opens a log whose last `tail` lines are read. */
async function openTail(path: string, tail: number | undefined): Promise<LogFile | undefined> {
  const file = LogFile.open(path);
  try {
    if (tail !== undefined) await file?.skipTo(tail);
  } catch (error) {
    file?.close();
    throw error;
  }
  return file;
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

  async skipTo(tail: number): Promise<void> {
    this.#position = await tailStart(this.#file, fstatSync(this.#file).size, tail);
  }

  /** Complete lines since the last call, those of a block at a time. */
  *blocks(): Generator<readonly Buffer[]> {
    const chunk = Buffer.alloc(64 << 10);
    for (;;) {
      const count = readSync(this.#file, chunk, 0, chunk.length, this.#position);
      if (count === 0) return;
      this.#position += count;
      const data = Buffer.concat([this.#rest, chunk.subarray(0, count)]);
      const lines: Buffer[] = [];
      let begin = 0;
      for (let end = data.indexOf(10); end >= 0; end = data.indexOf(10, begin)) {
        lines.push(data.subarray(begin, end + 1));
        begin = end + 1;
      }
      this.#rest = data.subarray(begin);
      if (this.#rest.length > maxLineBytes) {
        lines.push(this.#rest);
        this.#rest = Buffer.alloc(0);
      }
      yield lines;
    }
  }

  close(): void {
    closeSync(this.#file);
  }
}
