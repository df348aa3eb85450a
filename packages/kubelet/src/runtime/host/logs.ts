import {
  closeSync,
  constants,
  type FSWatcher,
  fstatSync,
  openSync,
  readSync,
  // biome-ignore lint/style/noRestrictedImports: times are moved with their log, which may be lost too.
  renameSync,
  statSync,
  truncateSync,
  watch,
  writeFileSync,
  writeSync,
} from "node:fs";
import { copyFile } from "node:fs/promises";
import { dirname } from "node:path";
import type { Clock } from "@dray/client";
import { makeFolderSync } from "@dray/files";
import { EventLoopShare } from "../../base/event-loop-share.ts";
import { openFile } from "../../base/open-file.ts";
import { tailStart } from "../log-tail.ts";
import type { LogLine } from "../service.ts";
import { GrowthReader, timesName } from "./log-growth.ts";
import { note } from "./note.ts";

/**
 * Makes the log of a container, and its folder. Leaves one that exists. Others cannot read it: programs that
 * collect logs are root.
 *
 * Upstream: containerd, internal/cri/io, NewCRILogger; pkg/kubelet/kuberuntime, generateContainerConfig.
 */
export function makeLog(path: string): void {
  makeFolderSync(dirname(path), 0o755);
  writeFileSync(path, "", { flag: "a", mode: 0o640 });
}

/**
 * Records when a log grew: a container writes its log without times, straight to the file, so that nothing is
 * lost while no agent runs. Lines that were written without an agent have the time of the next look.
 */
export class LogTimes {
  readonly #path: string;
  readonly #clock: Clock;
  readonly #watcher: FSWatcher;
  #size: number;
  #cancel: (() => void) | undefined;
  readonly #listeners = new Set<() => void>();
  readonly #rotationListeners = new Set<(to: string) => void>();

  /** Throws if the log does not exist. */
  constructor(path: string, clock: Clock) {
    this.#path = path;
    this.#clock = clock;
    const before = new GrowthReader(path);
    this.#size = before.last();
    before.close();
    this.#watcher = watch(path, { persistent: false }, () => this.#changed());
    this.#watcher.on("error", () => this.close());
    this.#note();
  }

  #changed(): void {
    // One entry for all writes within some milliseconds.
    this.#cancel ??= this.#clock.after(5, () => {
      this.#cancel = undefined;
      this.#note();
      for (const listener of this.#listeners) listener();
    });
  }

  #note(): void {
    const size = statSync(this.#path, { throwIfNoEntry: false })?.size ?? this.#size;
    if (size === this.#size) return;
    const { O_APPEND, O_CREAT, O_WRONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
    const flag = O_APPEND | O_CREAT | O_WRONLY | O_NOFOLLOW | O_NONBLOCK;
    // Without the entry these lines have the time of the next one.
    if (note(timesName(this.#path), `${Math.floor(this.#clock.now())} ${size}\n`, flag)) this.#size = size;
  }

  /** Calls `listener` when the log has grown. Returns a function that removes the listener. */
  onGrowth(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Moves the contents of the log to the file `to`. Readers that follow the log are notified before it is
   * emptied. `pause` stops the container for the last part of it, and returns a function that continues it;
   * without, writes between the end of the copy and the truncation are lost: those of some milliseconds.
   */
  async rotate(to: string, pause?: () => Promise<() => void>): Promise<void> {
    await copyFile(this.#path, to);
    // Each round copies what was written during the one before.
    for (let round = 0; round < maxRounds && restBytes(this.#path, to) > blockBytes; round++)
      await copyRest(this.#path, to);
    const resume = await pause?.();
    try {
      this.#note();
      copyRestSync(this.#path, to);
      try {
        renameSync(timesName(this.#path), timesName(to));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
      }
      for (const listener of this.#rotationListeners) listener(to);
      truncateSync(this.#path);
      this.#size = 0;
    } finally {
      resume?.();
    }
  }

  /**
   * Calls `listener` with the path to which the log was moved. Returns a function that removes the listener.
   */
  onRotation(listener: (to: string) => void): () => void {
    this.#rotationListeners.add(listener);
    return () => this.#rotationListeners.delete(listener);
  }

  /** Records the last growth and stops. */
  close(): void {
    this.#watcher.close();
    this.#cancel?.();
    this.#note();
    for (const listener of this.#listeners) listener();
  }
}

/** Number of times that a rotation copies what has been written while it was copying. */
const maxRounds = 10;
/** Blocks that are copied at a time. */
const blocksAtOnce = 16;

const restBytes = (path: string, copy: string): number => statSync(path).size - statSync(copy).size;

/** Appends to a copy what has been written since it was made. */
async function copyRest(path: string, copy: string): Promise<void> {
  const share = new EventLoopShare(blocksAtOnce);
  for (const _ of restBlocks(path, copy)) await share.step();
}

function copyRestSync(path: string, copy: string): void {
  for (const _ of restBlocks(path, copy));
}

/** Copies a block with each step. */
function* restBlocks(path: string, copy: string): Generator<void> {
  const from = openFile(path);
  try {
    const to = openSync(copy, constants.O_WRONLY | constants.O_APPEND);
    try {
      const { size } = fstatSync(from);
      const block = Buffer.allocUnsafe(blockBytes);
      for (let at = fstatSync(to).size; at < size; ) {
        const count = readSync(from, block, 0, Math.min(block.length, size - at), at);
        if (count === 0) return;
        writeSync(to, block, 0, count);
        at += count;
        yield;
      }
    } finally {
      closeSync(to);
    }
  } finally {
    closeSync(from);
  }
}

/** Length from which on a line comes in pieces, in bytes; as those of the runtime `cri`. */
const maxLineBytes = 1 << 20;
const noText = Buffer.alloc(0);
const blockBytes = 64 << 10;

interface LogFile {
  readonly file: number;
  readonly growth: GrowthReader;
}

const openLog = (path: string): LogFile => ({ file: openFile(path), growth: new GrowthReader(path) });

function closeLog({ file, growth }: LogFile): void {
  closeSync(file);
  growth.close();
}

/** Reads the lines of a log from its beginning to its current end. */
export class LogReader {
  /** The log, preceded by rotated files that are not read yet. */
  readonly #files: LogFile[];
  readonly #path: string;
  readonly #now: () => number;
  #position = 0;
  /** Parts of a line that has not ended. */
  #rest: Buffer[] = [];
  #restBytes = 0;

  constructor(path: string, now: () => number) {
    this.#path = path;
    this.#files = [openLog(path)];
    this.#now = now;
  }

  /** The log was moved to the file `to`, and is read to its end from there. */
  rotated(to: string): void {
    const moved = openLog(to);
    const { file, growth } = this.#files.pop() as LogFile;
    growth.close();
    this.#files.push(moved, { file, growth: new GrowthReader(this.#path) });
  }

  /** Leaves out all but the last `tail` lines; before the first read. */
  async skipTo(tail: number): Promise<void> {
    for (;;) {
      const [head] = this.#files as [LogFile];
      const position = await tailStart(head.file, fstatSync(head.file).size, tail);
      // Else the log was moved meanwhile, and is searched where it is now.
      if (head !== this.#files[0]) continue;
      this.#position = position;
      return;
    }
  }

  /**
   * Lines since the last call, those of a block at a time; a partial last line only if it has ended, is very
   * long, or `all` is set.
   */
  *read(all: boolean): Generator<readonly LogLine[]> {
    let current: LogFile | undefined;
    let size = 0;
    for (;;) {
      const [head] = this.#files as [LogFile];
      if (head !== current) {
        current = head;
        head.growth.refresh();
        size = fstatSync(head.file).size;
      }
      const chunk = Buffer.allocUnsafe(Math.max(0, Math.min(blockBytes, size - this.#position)));
      const count = chunk.length > 0 ? readSync(head.file, chunk, 0, chunk.length, this.#position) : 0;
      if (count === 0) {
        if (this.#files.length === 1) break;
        closeLog(head);
        this.#files.shift();
        this.#position = 0;
        continue;
      }
      const text = chunk.subarray(0, count);
      const lines: LogLine[] = [];
      let begin = 0;
      for (let end = text.indexOf(10); end >= 0; end = text.indexOf(10, begin)) {
        lines.push(this.#take(text.subarray(begin, end + 1), this.#position + begin));
        begin = end + 1;
      }
      if (begin < count) {
        // Copied, since a part keeps its whole block in memory.
        this.#rest.push(Buffer.from(text.subarray(begin)));
        this.#restBytes += count - begin;
      }
      this.#position += count;
      if (this.#restBytes >= maxLineBytes) lines.push(this.#take(noText, this.#position));
      if (lines.length > 0) yield lines;
    }
    if (all && this.#restBytes > 0) yield [this.#take(noText, this.#position)];
  }

  /** The line that ends with these bytes, which begin at `offset`. */
  #take(end: Buffer, offset: number): LogLine {
    const [{ growth }] = this.#files as [LogFile];
    const at = growth.at(offset - this.#restBytes) ?? this.#now();
    const text = this.#restBytes === 0 ? end : Buffer.concat([...this.#rest, end]);
    this.#rest = [];
    this.#restBytes = 0;
    return { at, text };
  }

  close(): void {
    for (const file of this.#files) closeLog(file);
  }
}
