import { type Entry, parseEntry } from "./entry.ts";
import { type FileLine, LogFile } from "./file.ts";

/** The logs of one cluster, as one sequence of entries. */
export class LogSource {
  readonly #files: readonly LogFile[];
  readonly #wanted: (entry: Entry) => boolean;

  constructor(paths: readonly string[], wanted: (entry: Entry) => boolean) {
    this.#files = paths.map((path) => new LogFile(path));
    this.#wanted = wanted;
  }

  /** Existing entries from `since` on (milliseconds since the epoch), in the order of time. */
  async *history(since: number): AsyncGenerator<Entry> {
    const heads: { entry: Entry; rest: AsyncGenerator<Entry> }[] = [];
    const advance = async (rest: AsyncGenerator<Entry>): Promise<void> => {
      const { done, value } = await rest.next();
      if (!done) heads.push({ entry: value, rest });
    };
    for (const file of this.#files) await advance(this.#entries(file.history(since), since));
    while (heads.length > 0) {
      const first = heads.reduce((a, b) => (b.entry.time < a.entry.time ? b : a));
      heads.splice(heads.indexOf(first), 1);
      yield first.entry;
      await advance(first.rest);
    }
  }

  /** New entries since the last call, in the order of time. */
  async added(): Promise<Entry[]> {
    const entries: Entry[] = [];
    for (const file of this.#files)
      for await (const entry of this.#entries(file.added(), 0)) entries.push(entry);
    return entries.sort((a, b) => a.time - b.time);
  }

  async *#entries(lines: AsyncGenerator<FileLine>, since: number): AsyncGenerator<Entry> {
    for await (const { line, written } of lines) {
      if (line === "") continue;
      const entry = parseEntry(line, written);
      if (entry.time >= since && this.#wanted(entry)) yield entry;
    }
  }

  async close(): Promise<void> {
    for (const file of this.#files) await file.close();
  }
}
