import {
  closeSync,
  constants,
  copyFileSync,
  type FSWatcher,
  fstatSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
  truncateSync,
  watch,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import type { Clock } from "@dray/client";
import { makeFolderSync } from "@dray/files";
import { openFile } from "../../base/open-file.ts";
import type { LogLine } from "../service.ts";
import { note } from "./note.ts";

/** Size of a log at a time. */
interface Growth {
  readonly at: number;
  readonly size: number;
}

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

const timesName = (logPath: string): string => `${logPath}.times`;

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
    this.#size = readTimes(path).at(-1)?.size ?? 0;
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
   * Moves the contents of the log to the file `to`; the container must not write meanwhile. Readers that
   * follow the log are notified before it is emptied.
   */
  rotate(to: string): void {
    this.#note();
    copyFileSync(this.#path, to);
    try {
      copyFileSync(timesName(this.#path), timesName(to));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
    for (const listener of this.#rotationListeners) listener(to);
    truncateSync(this.#path);
    rmSync(timesName(this.#path), { force: true });
    this.#size = 0;
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

function readTimes(logPath: string): Growth[] {
  let text: string;
  try {
    const file = openFile(timesName(logPath));
    try {
      text = readFileSync(file, "utf8");
    } finally {
      closeSync(file);
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
  return text
    .split("\n")
    .slice(0, -1)
    .map((line) => {
      const [at, size] = line.split(" ").map(Number);
      return { at: at ?? 0, size: size ?? 0 };
    });
}

interface LogFile {
  readonly path: string;
  readonly file: number;
}

/** Reads the lines of a log from its beginning to its current end. */
export class LogReader {
  /** The log, preceded by rotated files that are not read yet. */
  readonly #files: LogFile[];
  readonly #now: () => number;
  #position = 0;
  #rest = Buffer.alloc(0);
  #times: Growth[] = [];
  #next = 0;

  constructor(path: string, now: () => number) {
    this.#files = [{ path, file: openFile(path) }];
    this.#now = now;
  }

  /** The log was moved to the file `to`, and is read to its end from there. */
  rotated(to: string): void {
    this.#files.splice(-1, 0, { path: to, file: openFile(to) });
  }

  /** Lines since the last call; a partial last line only if it has ended, or `all` is set. */
  *read(all: boolean): Generator<LogLine> {
    const chunk = Buffer.alloc(64 << 10);
    let current: LogFile | undefined;
    let size = 0;
    for (;;) {
      const [head] = this.#files as [LogFile];
      if (head !== current) {
        current = head;
        this.#times = readTimes(head.path);
        size = fstatSync(head.file).size;
      }
      const count = this.#position < size ? readSync(head.file, chunk, 0, chunk.length, this.#position) : 0;
      if (count === 0) {
        if (this.#files.length === 1) break;
        closeSync(head.file);
        this.#files.shift();
        this.#position = 0;
        this.#next = 0;
        continue;
      }
      let begin = 0;
      for (;;) {
        const end = chunk.subarray(0, count).indexOf(10, begin);
        if (end < 0) break;
        const start = this.#position + begin - this.#rest.length;
        const text = Buffer.concat([this.#rest, chunk.subarray(begin, end + 1)]);
        this.#rest = Buffer.alloc(0);
        begin = end + 1;
        yield { at: this.#time(start), text };
      }
      this.#rest = Buffer.concat([this.#rest, chunk.subarray(begin, count)]);
      this.#position += count;
    }
    if (all && this.#rest.length > 0) {
      yield { at: this.#time(this.#position - this.#rest.length), text: this.#rest };
      this.#rest = Buffer.alloc(0);
    }
  }

  #time(offset: number): number {
    while (this.#next < this.#times.length && (this.#times[this.#next]?.size ?? 0) <= offset) this.#next++;
    return this.#times[this.#next]?.at ?? this.#now();
  }

  close(): void {
    for (const { file } of this.#files) closeSync(file);
  }
}
