import type { Clock } from "@dray/client";
import type { PostFilterResult } from "../framework/framework.ts";

/** Milliseconds after which the cause of an equal message is looked for again. */
const maxAge = 5 * 60_000;
/** Where causes take long, as with thousands of devices that all nodes reach, so many times as long passes in between. */
const pause = 20;
/** Milliseconds of such pauses that need not pass: the replicas of a workload are refused at once, and each is told why. */
const credit = 5_000;

/**
 * The causes that FailedScheduling events tell. Events that are equal are counted, and others are new: a cause is kept
 * as long as the standard words are the same.
 */
export class Causes {
  readonly #clock: Pick<Clock, "now">;
  readonly #known = new WeakMap<object, { message: string; cause: string; since: number }>();
  /** When the next one may be looked for. */
  #next = 0;

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  /** What the plugins say of this pod; "" if they say nothing, or have taken too long of late. `entry`: the pod in the queue. */
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
