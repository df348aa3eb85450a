import { type FileHandle, open, stat } from "node:fs/promises";

/** Bytes read at a time. */
const chunkSize = 64 * 1024;
const newline = 0x0a;
/** Maximum number of tries to open a file of a log that rotates meanwhile. */
const maxTries = 100;

/** An open file whose lines are read in order while it grows. */
class OpenFile {
  readonly #handle: FileHandle;
  readonly inode: number;
  #position: number;
  /** The beginning of an incomplete line. */
  #rest: Buffer[] = [];

  private constructor(handle: FileHandle, inode: number, position: number) {
    this.#handle = handle;
    this.inode = inode;
    this.#position = position;
  }

  /** Returns undefined for a missing file. */
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

  /** Returns the text after the last line end, which will never be completed. */
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

/** A line, and the time of the last write to its file for lines without a time. */
export interface FileLine {
  readonly line: string;
  readonly written: number;
}

/** A file of the log under its current name. */
interface Found {
  readonly path: string;
  readonly inode: number;
}

/**
 * A log that rotates: `path` is renamed to `path.1`, `path.1` to `path.2` and so on, or copied to `path.1`
 * and truncated (`../log/rotate.ts`). Every line is read once. After each file the reader continues with its
 * successor, whose number is lower by one: numbers may change at any moment, a file stays the same.
 */
export class LogFile {
  readonly #path: string;
  #current: OpenFile | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  /** Yields all existing lines, older files first. Skips files that were last written before `since`. */
  async *history(since: number): AsyncGenerator<FileLine> {
    this.#current = await this.#oldest();
    yield* this.#toNewest(since);
  }

  /** Yields the lines written since the last one read. */
  async *added(): AsyncGenerator<FileLine> {
    this.#current ??= await this.#oldest();
    if (this.#current === undefined) return;
    if ((await this.#current.size()) < this.#current.position) yield* this.#afterCut(this.#current);
    yield* this.#toNewest(0);
  }

  async *#toNewest(since: number): AsyncGenerator<FileLine> {
    while (this.#current !== undefined) {
      const file = this.#current;
      yield* linesSince(file, since);
      const next = await this.#successor(file);
      if (next === undefined) return;
      // Lines that were written just before the rename.
      yield* linesSince(file, since);
      const last = file.remainder();
      const written = await file.changed();
      if (last !== "" && written >= since) yield { line: last, written };
      await file.close();
      this.#current = next;
    }
  }

  /** The file was copied and truncated: unread lines are in the copy. */
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

  /** Returns the next newer file; the oldest if this one has been deleted; undefined without a successor. */
  async #successor(file: OpenFile): Promise<OpenFile | undefined> {
    return this.#find((found) => {
      const index = found.findIndex(({ inode }) => inode === file.inode);
      return index < 0 ? found.at(-1) : found[index - 1];
    });
  }

  async #oldest(): Promise<OpenFile | undefined> {
    return this.#find((found) => found.at(-1));
  }

  /** Opens a selected file; undefined without one. Retries if a rotation has renamed the files meanwhile. */
  async #find(choose: (found: readonly Found[]) => Found | undefined): Promise<OpenFile | undefined> {
    for (let tries = 0; tries < maxTries; tries++) {
      const chosen = choose(await this.#list());
      if (chosen === undefined) return undefined;
      const file = await OpenFile.at(chosen.path);
      if (file?.inode === chosen.inode) return file;
      await file?.close();
    }
    return undefined;
  }

  /**
   * Lists the files from the newest on. A rotation moves files away from it, the oldest first: a file may
   * occur twice, but none is missed. One number may be free for a moment, but not two.
   */
  async #list(): Promise<Found[]> {
    const found: Found[] = [];
    for (let number = 0, missing = 0; missing < 2; number++) {
      const path = number === 0 ? this.#path : `${this.#path}.${number}`;
      const inode = await inodeOf(path);
      missing = inode === undefined ? missing + 1 : 0;
      if (inode !== undefined) found.push({ path, inode });
    }
    return found;
  }

  async close(): Promise<void> {
    await this.#current?.close();
    this.#current = undefined;
  }
}

/** Yields new lines of a file; no lines if the file was last written before `since`. */
async function* linesSince(file: OpenFile, since: number): AsyncGenerator<FileLine> {
  const written = await file.changed();
  for await (const line of file.lines()) if (written >= since) yield { line, written };
}

async function inodeOf(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).ino;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
