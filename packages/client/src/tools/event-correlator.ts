import type { Clock } from "../base/clock.ts";

/** An event before it is written. */
export interface EventDraft {
  readonly about: {
    readonly apiVersion: string;
    readonly kind: string;
    readonly metadata: { readonly name: string; readonly namespace?: string; readonly uid?: string };
  };
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
}

export interface CorrelatedEvent {
  /** Events of one key are one object, with a count. */
  readonly key: string;
  readonly message: string;
  /** False: the object has had too many events; this one is counted and not written. */
  readonly isAllowed: boolean;
}

/**
 * Events of an object that differ in their message only are combined from the tenth on, until none comes for
 * ten minutes.
 */
const maxSimilar = 10;
const similarInterval = 600_000;
/** Events of an object and type that are written at once, and milliseconds until one more may be. */
const burst = 25;
const refillInterval = 300_000;
/** Maximum number of objects of which each is remembered. */
const maxEntries = 4096;

interface Similar {
  readonly messages: Set<string>;
  last: number;
}

interface Bucket {
  tokens: number;
  updated: number;
}

/**
 * Combines similar events and limits those of each object, for one reporting component.
 *
 * Upstream: client-go, tools/record/events_cache.go, EventAggregator and EventSourceObjectSpamFilter.
 */
export class EventCorrelator {
  readonly #clock: Clock;
  readonly #similar = new Map<string, Similar>();
  readonly #buckets = new Map<string, Bucket>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  correlate({ about, type, reason, message }: EventDraft): CorrelatedEvent {
    const { kind, apiVersion, metadata } = about;
    const { namespace = "", name, uid = "" } = metadata;
    const object = [apiVersion, kind, namespace, name, uid, type].join("\0");
    const isAllowed = this.#takeToken(object);
    const combinedKey = [object, reason].join("\0");
    if (this.#isOneOfMany(combinedKey, message))
      return { key: combinedKey, message: `(combined from similar events): ${message}`, isAllowed };
    return { key: [object, reason, message].join("\0"), message, isAllowed };
  }

  #isOneOfMany(key: string, message: string): boolean {
    const now = this.#clock.now();
    let similar = this.#similar.get(key);
    if (similar === undefined || now - similar.last > similarInterval)
      similar = { messages: new Set(), last: now };
    similar.last = now;
    remember(this.#similar, key, similar);
    if (similar.messages.has(message)) return false;
    if (similar.messages.size + 1 >= maxSimilar) return true;
    similar.messages.add(message);
    return false;
  }

  #takeToken(object: string): boolean {
    const now = this.#clock.now();
    const bucket = this.#buckets.get(object) ?? { tokens: burst, updated: now };
    bucket.tokens = Math.min(burst, bucket.tokens + Math.max(0, now - bucket.updated) / refillInterval);
    bucket.updated = now;
    remember(this.#buckets, object, bucket);
    if (bucket.tokens < 1) return false;
    bucket.tokens--;
    return true;
  }
}

/** Sets an entry of an LRU cache. */
export function remember<V>(entries: Map<string, V>, key: string, value: V): void {
  if (!entries.delete(key) && entries.size >= maxEntries) entries.delete(entries.keys().next().value ?? "");
  entries.set(key, value);
}
