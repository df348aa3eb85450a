import type { Clock } from "@dray/client";
import type { PostFilterResult } from "../framework/framework.ts";

/** Milliseconds for which the cause of an equal message is cached. */
const maxAge = 5 * 60_000;
/**
 * Where a cause takes long to find (thousands of shared devices), the pause before the next is this multiple
 * of it.
 */
const pause = 20;
/** Milliseconds of such pauses that are allowed at once: the replicas of a workload are rejected together. */
const credit = 5_000;

/**
 * Caches the causes in FailedScheduling events. Equal events are counted as one, others are new: a cause is
 * kept as long as the standard words are the same.
 */
export class CauseCache {
  readonly #clock: Pick<Clock, "now">;
  readonly #known = new WeakMap<object, { message: string; cause: string; since: number }>();
  /** Earliest time of the next search for a cause. */
  #next = 0;

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  /**
   * The cause for this pod; "" if unknown, or searches took too long lately. `entry`: the pod in the queue.
   */
  of(entry: object, message: string, results: readonly PostFilterResult[]): string {
    const now = this.#clock.now();
    const known = this.#known.get(entry);
    if (known?.message === message && now - known.since < maxAge) return known.cause;
    if (now < this.#next) return "";
    const cause = results.flatMap(({ cause }) => cause?.() ?? []).join(" ");
    const end = this.#clock.now();
    this.#next = Math.max(this.#next, now - credit) + (end - now) * (pause + 1);
    this.#known.set(entry, { message, cause, since: now });
    return cause;
  }
}
