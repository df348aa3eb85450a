/** Seats that a priority level could have used in a period. */
export interface DemandSummary {
  /** Weighted by time, like the standard deviation. */
  readonly average: number;
  readonly deviation: number;
  readonly highest: number;
}

/**
 * Integrates the seats that a priority level demands, in use and waiting, over time.
 *
 * Upstream: apiserver/pkg/util/flowcontrol/fairqueuing/integrator.go
 */
export class SeatDemand {
  #since: number;
  #seats = 0;
  #highest = 0;
  #elapsed = 0;
  #sum = 0;
  #squares = 0;

  /** `now` in milliseconds, here and below. */
  constructor(now: number) {
    this.#since = now;
  }

  set(seats: number, now: number): void {
    this.#advance(now);
    this.#seats = seats;
    if (seats > this.#highest) this.#highest = seats;
  }

  /** Returns the demand since the last call; undefined if no time has passed. */
  summary(now: number): DemandSummary | undefined {
    this.#advance(now);
    const [elapsed, highest] = [this.#elapsed, this.#highest];
    if (elapsed <= 0) return undefined;
    const average = this.#sum / elapsed;
    const variance = this.#squares / elapsed - average * average;
    this.#elapsed = 0;
    this.#sum = 0;
    this.#squares = 0;
    this.#highest = this.#seats;
    return { average, deviation: Math.sqrt(Math.max(0, variance)), highest };
  }

  #advance(now: number): void {
    const elapsed = Math.max(0, now - this.#since);
    this.#since = now;
    if (elapsed === 0) return;
    this.#elapsed += elapsed;
    this.#sum += this.#seats * elapsed;
    this.#squares += this.#seats * this.#seats * elapsed;
  }
}
