import type { KubeObject } from "@dray/api";
import type { WatchFrame } from "@dray/client";

/** A recorded change. `object` of DELETED is the last state, at the revision of the deletion. */
export interface CacheEvent {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly revision: number;
  readonly key: string;
  readonly object: KubeObject;
  readonly previous?: KubeObject;
  /** Length of the object's stored text. */
  readonly size: number;
  /** Encoded frames of this event, by representation: an event is serialised once. */
  readonly frames: Map<string, WatchFrame>;
}

/**
 * Minimum number of events in a history, for watches that begin in the past, and maximum, for those that lag.
 */
const keptEvents = 1024;
const maxEvents = 20_480;
/** Maximum text of all histories, in characters; each keeps its newest event in any case. */
const maxText = 128 * 2 ** 20;
/** Maximum text of all histories, in characters, above which stale events are dropped. */
const maxStaleText = 16 * 2 ** 20;
/** Minimum text of a large object: its event is kept only while it is fresh. */
const largeText = 64 * 1024;

/** Reads a history from one position on, at its own pace, so that a watch needs no queue of its own. */
export interface Reader {
  /** Returns the events since the last call, in order; undefined if some of them were dropped. */
  next(): readonly CacheEvent[] | undefined;
  close(): void;
}

interface Position {
  /** Number of the next event to read. */
  next: number;
  readonly wake: () => void;
}

/**
 * Limits the memory of the histories of all resources. A parsed object takes several times its text, so large
 * objects must not be retained indefinitely on an idle server.
 */
export class Histories {
  readonly #histories: History[] = [];
  /** Total text of all recorded events, in characters. */
  text = 0;

  create(since: number): History {
    const history = new History(since, this);
    this.#histories.push(history);
    return history;
  }

  /** Halves the largest histories until all are within the limit. */
  trim(): void {
    while (this.text > maxText) {
      const largest = this.#histories.reduce((a, b) => (b.text > a.text ? b : a));
      if (!largest.halve()) return;
    }
  }

  /**
   * Drops events of large objects that are older than the last call; all such events if the text limit is
   * exceeded.
   */
  age(): void {
    for (const history of this.#histories.toSorted((a, b) => b.text - a.text)) {
      history.age(this.text > maxStaleText);
    }
  }
}

/** The recent events of a resource. Its memory is bounded, however slow its readers are. */
export class History {
  readonly #all: Histories;
  #events: CacheEvent[] = [];
  /** Number of the first event that is kept; events are numbered in order. */
  #first = 0;
  /** Number of the first event after the last call of `age`. */
  #fresh = 0;
  /** Total text of the recorded events, in characters. */
  text = 0;
  /** All later events are kept. */
  #since: number;
  readonly #readers = new Set<Position>();

  constructor(since: number, all: Histories) {
    this.#since = since;
    this.#all = all;
  }

  get readers(): number {
    return this.#readers.size;
  }

  append(event: CacheEvent): void {
    this.#events.push(event);
    this.#count(event.size);
    this.#trim();
    this.#all.trim();
    for (const reader of this.#readers) reader.wake();
  }

  /** Returns events later than `revision`; undefined if the history does not contain all of them. */
  after(revision: number): readonly CacheEvent[] | undefined {
    return revision < this.#since ? undefined : this.#events.slice(this.#indexAfter(revision));
  }

  /**
   * Returns a reader of the events later than `revision`; `wake` is called when one is added or dropped.
   * Undefined as above.
   */
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

  /** Watches may begin at `revision` or later; all readers are invalid. */
  forget(revision: number): void {
    this.#first += this.#events.length + 1;
    this.#events = [];
    this.#count(-this.text);
    this.#since = revision;
    for (const reader of this.#readers) reader.wake();
  }

  /** Drops the older half; returns false if there is only one event. */
  halve(): boolean {
    const drop = this.#events.length >>> 1;
    this.#drop(drop);
    return drop > 0;
  }

  /**
   * Drops events that are older than the last call and that no reader needs: up to the last event of a large
   * object, or `all`. Events of small objects stay, for watches that begin in the past.
   */
  age(all: boolean): void {
    const stale = this.#events.slice(0, Math.max(Math.min(this.#fresh, this.#slowest()) - this.#first, 0));
    this.#fresh = this.#first + this.#events.length;
    this.#drop(all ? stale.length : stale.findLastIndex(({ size }) => size >= largeText) + 1);
  }

  /**
   * Drops old events in large blocks, because moving the rest costs time: first those that no reader needs.
   */
  #trim(): void {
    const { length } = this.#events;
    if (length > maxEvents) {
      this.halve();
    } else if (length > 2 * keptEvents) {
      const drop = Math.min(length - keptEvents, this.#slowest() - this.#first);
      if (drop >= keptEvents / 2) this.#drop(drop);
    }
  }

  /** Returns the number of the first event that a reader still needs. */
  #slowest(): number {
    let slowest = this.#first + this.#events.length;
    for (const { next } of this.#readers) slowest = Math.min(slowest, next);
    return slowest;
  }

  #drop(count: number): void {
    if (count <= 0) return;
    let text = 0;
    for (const { size } of this.#events.slice(0, count)) text += size;
    this.#count(-text);
    this.#since = this.#events[count - 1]!.revision;
    this.#events = this.#events.slice(count);
    this.#first += count;
  }

  #count(text: number): void {
    this.text += text;
    this.#all.text += text;
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
