import type { Clock } from "@dray/client";

/** Milliseconds, and bytes per second, that a sender has for its body when others find no room. */
const sendGrace = 1_000;
const minSendRate = 512 * 1024;

/** Room for one body. */
export interface BodyRoom {
  /** The whole body has arrived: its size is known. */
  received(bytes: number): void;
  release(): void;
}

/** A sender of a large body. */
interface Sender {
  /** Size of the body, or the largest that it may have. */
  readonly bytes: number;
  /** Disconnects the client. */
  readonly abort: () => void;
}

/**
 * Limits the bytes of large bodies in memory, from their first byte to the response: a body takes more than
 * ten times its size while it is processed. Further ones are rejected at once: one that waited unread would
 * use up the flow-control window of its HTTP/2 connection, and hold up all other requests there. A sender
 * that is slower than 512 KiB/s is disconnected when another body finds no room.
 */
export class BodyBudget {
  readonly #clock: Clock;
  readonly #limit: number;
  /** Bodies that are still arriving, and the time by which they have to be complete if others need room. */
  readonly #arriving = new Map<Sender, number>();
  #used = 0;

  constructor(clock: Clock, limit: number) {
    this.#clock = clock;
    this.#limit = limit;
  }

  /** Bytes of the admitted bodies. */
  get used(): number {
    return this.#used;
  }

  /** Returns room for a body, undefined if it does not fit. One larger than the limit is admitted alone. */
  take(sender: Sender): BodyRoom | undefined {
    if (this.#used > 0 && this.#used + sender.bytes > this.#limit) {
      this.#disconnectLate();
      return undefined;
    }
    let { bytes } = sender;
    this.#used += bytes;
    this.#arriving.set(sender, this.#clock.now() + sendGrace + (bytes / minSendRate) * 1000);
    return {
      received: (actual) => {
        this.#arriving.delete(sender);
        this.#used -= bytes - actual;
        bytes = actual;
      },
      release: () => {
        this.#arriving.delete(sender);
        this.#used -= bytes;
        bytes = 0;
      },
    };
  }

  #disconnectLate(): void {
    const now = this.#clock.now();
    for (const [sender, end] of this.#arriving) {
      if (end > now) continue;
      this.#arriving.delete(sender);
      sender.abort();
    }
  }
}
