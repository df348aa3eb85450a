import type { StoreClock } from "../base/clock.ts";
import type { Connection } from "./connection.ts";
import { leaseGrant } from "./messages.ts";

interface Lease {
  readonly id: Promise<bigint>;
  /** When the lease ends at the earliest, by our clock. */
  readonly ends: number;
  entries: number;
}

/** A lease is given to new entries for so long, or this part of their time to live if that is less. */
const reuseMilliseconds = 60_000;
const reusePart = 0.05;
/** Entries of one lease go together, which must not stop etcd for long. */
const maxEntries = 1000;

/**
 * Leases for entries with a time to live. Those that are written soon after each other share one, as
 * kube-apiserver has it: an entry stays a little longer than asked, and never shorter.
 */
export class Leases {
  readonly #connection: Connection;
  readonly #clock: StoreClock;
  readonly #newest = new Map<number, Lease>();

  constructor(connection: Connection, clock: StoreClock) {
    this.#connection = connection;
    this.#clock = clock;
  }

  /** The identity of a lease that lasts at least `ttl` seconds. */
  get(ttl: number): Promise<bigint> {
    const now = this.#clock.now();
    const needed = now + ttl * 1000;
    const reuse = Math.min(reuseMilliseconds, ttl * 1000 * reusePart);
    const newest = this.#newest.get(ttl);
    // One that ends later than a new one would was made before the clock was set back.
    if (
      newest &&
      newest.entries < maxEntries &&
      newest.ends >= needed &&
      newest.ends <= needed + reuse + 1000
    ) {
      newest.entries++;
      return newest.id;
    }
    const lifetime = Math.ceil(ttl + reuse / 1000);
    const id = this.#grant(lifetime);
    this.#newest.set(ttl, { id, ends: now + lifetime * 1000, entries: 1 });
    id.catch(() => this.#newest.delete(ttl));
    return id;
  }

  async #grant(ttl: number): Promise<bigint> {
    const { id, error } = await this.#connection.call(leaseGrant, { ttl }, true);
    if (error !== "") throw new Error(error);
    return id;
  }
}
