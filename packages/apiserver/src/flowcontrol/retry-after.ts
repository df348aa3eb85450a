/** Maximum in seconds; also how long rejected requests are counted. */
const maxRetryAfter = 32;

/**
 * Computes the Retry-After of an overloaded priority level, in seconds: it doubles while many requests are
 * still rejected, and falls by one second when few are.
 *
 * Upstream: apiserver/pkg/util/flowcontrol/dropped_requests_tracker.go
 */
export class RetryAfter {
  /** Rejected requests by second; the newest last. */
  #history: { readonly second: number; rejected: number }[] = [];
  #seconds = 1;
  #raised = 0;

  get seconds(): number {
    return this.#seconds;
  }

  /** Counts a rejected request; `now` in milliseconds. */
  note(now: number): void {
    const second = Math.floor(now / 1000);
    const last = this.#history.at(-1);
    if (last?.second === second) {
      last.rejected++;
      return;
    }
    this.#adjust(second);
    const span = Math.min(2 * this.#seconds, maxRetryAfter);
    this.#history = this.#history.filter((entry) => second - entry.second <= span);
    this.#history.push({ second, rejected: 1 });
  }

  /** Adjusts Retry-After by the number of requests rejected within the last Retry-After. */
  #adjust(second: number): void {
    const wait = this.#seconds;
    let rejected = 0;
    for (const entry of this.#history) if (second - entry.second <= wait) rejected += entry.rejected;
    if (second - this.#raised >= wait && rejected >= 3 * wait) {
      this.#seconds = Math.min(2 * wait, maxRetryAfter);
      this.#raised = second;
    } else if (rejected < wait && wait > 1) this.#seconds = wait - 1;
  }
}
