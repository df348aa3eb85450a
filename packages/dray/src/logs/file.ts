import { existsSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";

/** Bytes read at a time. */
const chunkSize = 64 * 1024;
const newline = 0x0a;
/** Looks, a millisecond apart, at a file that may be between two names. */
const gapTries = 20;

/** An open file whose lines are read in order, again and again as it grows. */
class OpenFile {
  readonly #handle: FileHandle;
  readonly inode: number;
  #position: number;
  /** Of a line whose end is not there yet. */
  #rest: Buffer[] = [];

  private constructor(handle: FileHandle, inode: number, position: number) {
    this.#handle = handle;
    this.inode = inode;
    this.#position = position;
  }

  /** Undefined if there is no such file. */
  static async at(path: string, position = 0): Promise<OpenFile | undefined> {
    try {
      const handle = await open(path, "r");
      return new OpenFile(handle, (await handle.stat()).ino, position);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw error;
    }
  }

  get position(): number {
    return this.#position;
  }

  async size(): Promise<number> {
    return (await this.#handle.stat()).size;
  }

  async changed(): Promise<number> {
    return (await this.#handle.stat()).mtimeMs;
  }

  async *lines(): AsyncGenerator<string> {
    const buffer = Buffer.allocUnsafe(chunkSize);
    for (;;) {
      const { bytesRead } = await this.#handle.read(buffer, 0, chunkSize, this.#position);
      if (bytesRead === 0) return;
      this.#position += bytesRead;
      let begin = 0;
      for (;;) {
        const end = buffer.subarray(0, bytesRead).indexOf(newline, begin);
        if (end < 0) break;
        yield this.#take(buffer.subarray(begin, end));
        begin = end + 1;
      }
      if (begin < bytesRead) this.#rest.push(Buffer.from(buffer.subarray(begin, bytesRead)));
    }
  }

  /** What stands behind the last line end, which will never be completed. */
  remainder(): string {
    return this.#take(Buffer.alloc(0));
  }

  #take(end: Buffer): string {
    const line = Buffer.concat([...this.#rest, end]).toString();
    this.#rest = [];
    return line;
  }

  close(): Promise<void> {
    return this.#handle.close();
  }
}

/** A line and the time at which its file was last written, for lines that bear no time. */
export interface FileLine {
  readonly line: string;
  readonly written: number;
}

/**
 * A log that rotates: `path` is renamed to `path.1`, `path.1` to `path.2` and so on, or copied to `path.1` and cut to
 * nothing (`../log/rotate.ts`). Every line is read once.
 */
export class LogFile {
  readonly #path: string;
  #current: OpenFile | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  /** All lines that are there, those of older files first. Files that were last written before `since` are passed over. */
  async *history(since: number): AsyncGenerator<FileLine> {
    // From the newest on: a file that is renamed meanwhile is met again, and none is missed.
    const files: OpenFile[] = [];
    for (let number = 0; ; number++) {
      const file = await this.#numbered(number);
      if (file === undefined) {
        if (number > 0) break;
        continue;
      }
      if (files.some(({ inode }) => inode === file.inode)) await file.close();
      else files.push(file);
      if (number === 0) this.#current = file;
    }
    for (const file of files.reverse()) {
      const written = await file.changed();
      if (written >= since) yield* withTime(file, written);
      if (file === this.#current) {
        // Lines that were passed over are not new.
        if (written < since) for await (const _ of file.lines());
      } else {
        yield* lastLine(file, written);
        await file.close();
      }
    }
  }

  /** The lines that have been written since the last one that was read. */
  async *added(): AsyncGenerator<FileLine> {
    this.#current ??= await OpenFile.at(this.#path);
    if (this.#current === undefined) return;
    if ((await this.#current.size()) < this.#current.position) yield* this.#afterCut(this.#current);
    yield* withTime(this.#current, await this.#current.changed());
    yield* this.#afterRename(this.#current);
  }

  /** The file was copied away and cut: what was not read yet is in the copy. */
  async *#afterCut(cut: OpenFile): AsyncGenerator<FileLine> {
    const copy = await OpenFile.at(`${this.#path}.1`, cut.position);
    if (copy !== undefined) {
      const written = await copy.changed();
      const begun = cut.remainder();
      let first = true;
      for await (const line of copy.lines()) {
        yield { line: first ? begun + line : line, written };
        first = false;
      }
      await copy.close();
    }
    await cut.close();
    this.#current = (await OpenFile.at(this.#path)) ?? cut;
  }

  /** The file of that number; 0 is the one that is written. Waits where a rotation has renamed it and not yet the next. */
  async #numbered(number: number): Promise<OpenFile | undefined> {
    const path = (of: number): string => (of === 0 ? this.#path : `${this.#path}.${of}`);
    for (let tries = 0; ; tries++) {
      const file = await OpenFile.at(path(number));
      // A rotation renames the oldest first. A gap that stays is none of its.
      if (file !== undefined || number === 0 || tries === gapTries || !existsSync(path(number + 1)))
        return file;
      await sleep(1);
    }
  }

  /** The file was renamed, perhaps several times: those that came after it are read whole. */
  async *#afterRename(old: OpenFile): AsyncGenerator<FileLine> {
    const newer: OpenFile[] = [];
    for (let number = 0; ; number++) {
      const file = await this.#numbered(number);
      // Between two renames there is no current file for a moment.
      if (file === undefined && number === 0) return;
      if (file === undefined || file.inode === old.inode) {
        await file?.close();
        break;
      }
      if (newer.some(({ inode }) => inode === file.inode)) await file.close();
      else newer.push(file);
    }
    if (newer.length === 0) return;
    // Lines that were written just before the rename.
    yield* withTime(old, await old.changed());
    yield* lastLine(old, await old.changed());
    await old.close();
    this.#current = newer[0];
    for (const file of newer.reverse()) {
      const written = await file.changed();
      yield* withTime(file, written);
      if (file === this.#current) continue;
      yield* lastLine(file, written);
      await file.close();
    }
  }

  async close(): Promise<void> {
    await this.#current?.close();
    this.#current = undefined;
  }
}

async function* withTime(file: OpenFile, written: number): AsyncGenerator<FileLine> {
  for await (const line of file.lines()) yield { line, written };
}

async function* lastLine(file: OpenFile, written: number): AsyncGenerator<FileLine> {
  const line = file.remainder();
  if (line !== "") yield { line, written };
}
