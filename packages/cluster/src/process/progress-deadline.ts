export interface ProgressDeadlineOptions {
  /** Milliseconds that the next step may take. */
  readonly timeout: number;
  /** Describes what is missing when the time is over. */
  failure(): Error;
  /** Ends the wait with its reason. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Limits the time until the next step of something long, as `progressDeadlineSeconds` of a Deployment does.
 * Keeps the process alive until it is stopped, which timers of a `Clock` do not.
 */
export class ProgressDeadline {
  /** Rejects when a step takes too long, or the signal aborts; never resolves. */
  readonly exceeded: Promise<never>;
  readonly #timeout: number;
  readonly #expire: () => void;
  #timer: NodeJS.Timeout;
  readonly #signal: AbortSignal | undefined;
  readonly #abort: () => void;

  constructor({ timeout, failure, signal }: ProgressDeadlineOptions) {
    const { promise, reject } = Promise.withResolvers<never>();
    // Nothing waits for it any more once the work is done.
    promise.catch(() => {});
    this.exceeded = promise;
    this.#timeout = timeout;
    this.#expire = () => reject(failure());
    this.#timer = setTimeout(this.#expire, timeout);
    this.#signal = signal;
    this.#abort = () => {
      this.stop();
      reject(signal?.reason);
    };
    if (signal?.aborted) this.#abort();
    else signal?.addEventListener("abort", this.#abort, { once: true });
  }

  /** Gives the next step the whole time again. */
  advance(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#expire, this.#timeout);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#signal?.removeEventListener("abort", this.#abort);
  }
}
