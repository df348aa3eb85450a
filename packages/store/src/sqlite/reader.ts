import type { DatabaseSync, StatementSync } from "node:sqlite";
import { type Entry, endOf, type ListOptions, type StoreEvent } from "../base/store.ts";
import { onFile } from "./error.ts";
import { idOf, openDatabase, revisionOf } from "./file.ts";
import { entryOf, eventOf, type Row, reads } from "./rows.ts";

/** A key whose time is over, and the id of the change that is due. */
export type Due = {
  readonly key: string;
  readonly id: number;
};

/**
 * Reads the file on a connection of its own, which sees only what is committed while the writer has a
 * transaction open. All methods throw StoreFileError where the file cannot be read.
 */
export class Reader {
  readonly #path: string;
  readonly #database: DatabaseSync;
  readonly #statements: Readonly<Record<keyof typeof reads, StatementSync>>;
  #closed = false;

  constructor(path: string) {
    this.#path = path;
    this.#database = openDatabase(path, { readOnly: true });
    this.#statements = Object.fromEntries(
      Object.entries(reads).map(([name, sql]) => [name, this.#database.prepare(sql)]),
    ) as Record<keyof typeof reads, StatementSync>;
  }

  get(key: string, revision: number): Entry | undefined {
    return this.#read(({ get }) => entryOf(get.get(key, idOf(revision + 1, 0)) as Row | undefined));
  }

  list(prefix: string, revision: number, { after = "", limit }: ListOptions) {
    const range = { after, prefix, end: endOf(prefix), before: idOf(revision + 1, 0) };
    const rows = this.#read(({ list }) =>
      list.all({ ...range, limit: limit === undefined ? -1 : limit + 1 }),
    );
    // The statement leaves out deleted keys.
    const entries = (rows as Row[]).map((row) => entryOf(row)!);
    const more = limit !== undefined && entries.length > limit;
    return { entries: more ? entries.slice(0, limit) : entries, revision, more };
  }

  count(prefix: string, revision: number): number {
    const range = { after: "", prefix, end: endOf(prefix), before: idOf(revision + 1, 0) };
    return this.#read(({ count }) => Number(count.get(range)?.["count"]));
  }

  /** As `History` has it, up to the revision `newest`. */
  eventsAfter(prefix: string, from: number, limit: number, newest: number): readonly StoreEvent[] {
    return this.#read(({ span, events, at }) => {
      // The change at which a page is full; all of its revision belongs to the page.
      const full = span.get(idOf(from + 1, 0), prefix, endOf(prefix), limit - 1);
      const last = full === undefined ? newest : revisionOf(Number(full["id"]));
      const rows = events.all(idOf(from + 1, 0), idOf(last + 1, 0)) as Row[];
      return rows
        .filter((row) => row.key.startsWith(prefix))
        .map((row) => {
          const previous = row.previous === 0 ? undefined : at.get(row.previous);
          return eventOf(row, entryOf(previous as Row | undefined));
        });
    });
  }

  /** Keys that expire at `now` or earlier. */
  due(now: number): readonly Due[] {
    return this.#read(({ due }) => due.all(now) as Due[]);
  }

  /** When the next entry expires that does so later than `after`. */
  nextDue(after: number): number | undefined {
    const due = this.#read(({ nextDue }) => nextDue.get(after)?.["due"]);
    return due === null ? undefined : Number(due);
  }

  close(): void {
    this.#closed = true;
    this.#database.close();
  }

  #read<T>(work: (statements: Readonly<Record<keyof typeof reads, StatementSync>>) => T): T {
    if (this.#closed) throw new Error("the store is closed");
    return onFile(this.#path, () => work(this.#statements));
  }
}
