import type { Clock } from "@dray/client";
import type { PostFilterResult } from "../framework/framework.ts";

/**
 * Where a cause takes long to find (thousands of shared devices), the pause before the next is this multiple
 * of it.
 */
const pause = 20;
/** Milliseconds of such pauses that are allowed at once: the replicas of a workload are rejected together. */
const credit = 5_000;

/**
 * Finds the causes in FailedScheduling events, each time anew: a pod is tried again because something has
 * changed, and the same words of the standard message may have another cause now. Limits the time that this
 * takes, so that scheduling comes first.
 */
export class CauseBudget {
  readonly #clock: Pick<Clock, "now">;
  /** Earliest time of the next search for a cause. */
  #next = 0;

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  /** The cause; "" if unknown, or searches took too long lately. */
  of(results: readonly PostFilterResult[]): string {
    const now = this.#clock.now();
    if (now < this.#next) return "";
    const cause = results.flatMap(({ cause }) => cause?.() ?? []).join(" ");
    const end = this.#clock.now();
    this.#next = Math.max(this.#next, now - credit) + (end - now) * (pause + 1);
    return cause;
  }
}
