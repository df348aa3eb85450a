import type { KubeObject } from "@dray/api";
import type { WatchFrame } from "@dray/client";

/** A change as the history keeps it. `object` of DELETED is the last state, at the revision of the deletion. */
export interface CacheEvent {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly revision: number;
  readonly key: string;
  readonly object: KubeObject;
  readonly previous?: KubeObject;
  /** Length of the object's stored text. */
  readonly size: number;
  /** Frames already made for this event, by representation: an event is serialised once. */
  readonly frames: Map<string, WatchFrame>;
}

/** How many events a history keeps at least, for watches that begin in the past, and at most, for those that lag. */
const keptEvents = 1024;
const mostEvents = 20_480;
/** Most text of objects that a history keeps, in characters, though at least the newest event stays. */
const mostText = 128 * 2 ** 20;

/** Reads a history from one place on, at its own pace, so that a watch needs no queue of its own. */
export interface Reader {
  /** The events since the last call, in order; undefined if the history has forgotten some of them. */
  next(): readonly CacheEvent[] | undefined;
  close(): void;
}

interface Position {
  /** The number of the next event to be read. */
  next: number;
  readonly wake: () => void;
}

/** What lately happened to the objects of a resource. Its memory is bounded, however slow its readers are. */
export class History {
  #events: CacheEvent[] = [];
  /** The number of the first event that is kept; events are numbered as they come. */
  #first = 0;
  #text = 0;
  /** Everything later than this revision is kept. */
  #since: number;
  readonly #readers = new Set<Position>();

  constructor(since: number) {
    this.#since = since;
  }

  get readers(): number {
    return this.#readers.size;
  }

  append(event: CacheEvent): void {
    this.#events.push(event);
    this.#text += event.size;
    this.#trim();
    for (const reader of this.#readers) reader.wake();
  }

  /** Events later than `revision`, or undefined if the history does not reach back so far. */
  after(revision: number): readonly CacheEvent[] | undefined {
    return revision < this.#since ? undefined : this.#events.slice(this.#indexAfter(revision));
  }

  /** A reader of the events later than `revision`; `wake` is called when one comes, or is forgotten. Undefined as above. */
  read(revision: number, wake: () => void): Reader | undefined {
    if (revision < this.#since) return undefined;
    const position: Position = { next: this.#first + this.#indexAfter(revision), wake };
    this.#readers.add(position);
    return {
      next: () => {
        if (position.next < this.#first) return undefined;
        const events = this.#events.slice(position.next - this.#first);
        position.next += events.length;
        return events;
      },
      close: () => void this.#readers.delete(position),
    };
  }

  /** Watches may begin at `revision` or later; all readers have lost their place. */
  forget(revision: number): void {
    this.#first += this.#events.length + 1;
    this.#events = [];
    this.#text = 0;
    this.#since = revision;
    for (const reader of this.#readers) reader.wake();
  }

  /** Drops old events in large pieces, because to move the rest costs time: first those that nobody waits for. */
  #trim(): void {
    const { length } = this.#events;
    let drop = 0;
    if (length > mostEvents || this.#text > mostText) {
      drop = length >>> 1;
    } else if (length > 2 * keptEvents) {
      let slowest = this.#first + length - keptEvents;
      for (const { next } of this.#readers) slowest = Math.min(slowest, next);
      drop = slowest - this.#first;
    }
    if (drop < keptEvents / 2 && this.#text <= mostText) return;
    for (const { size } of this.#events.slice(0, drop)) this.#text -= size;
    this.#since = this.#events[drop - 1]?.revision ?? this.#since;
    this.#events = this.#events.slice(drop);
    this.#first += drop;
  }

  #indexAfter(revision: number): number {
    let low = 0;
    let high = this.#events.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#events[middle]!.revision <= revision) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
