import type { Clock } from "@dray/client";

/** Milliseconds for which a request waits for room before it is rejected. */
const waitTimeout = 15_000;
/** Milliseconds, and bytes per second, that a sender has for its body while others wait for room. */
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
  /** Aborts when the client has disconnected. */
  readonly signal: AbortSignal;
  /** Disconnects the client. */
  readonly abort: () => void;
}

interface Waiter {
  readonly sender: Sender;
  readonly admit: () => void;
}

/**
 * Limits the bytes of large bodies in memory, from their first byte to the response: a body takes more than
 * ten times its size while it is processed. Further ones are not read: they wait in their order, 15 s at
 * most. While any wait, a sender that is slower than 512 KiB/s is disconnected.
 */
export class BodyBudget {
  readonly #clock: Clock;
  readonly #limit: number;
  readonly #waiting = new Set<Waiter>();
  /** Bodies that are still arriving, and the time by which they have to be complete if others wait. */
  readonly #arriving = new Map<Sender, number>();
  #used = 0;
  #cancelCheck: (() => void) | undefined;

  constructor(clock: Clock, limit: number) {
    this.#clock = clock;
    this.#limit = limit;
  }

  /** Bytes of the admitted bodies. */
  get used(): number {
    return this.#used;
  }

  /** Resolves when the body may be read; undefined if there is no room in time, or the client disconnects. */
  take(sender: Sender): Promise<BodyRoom | undefined> | BodyRoom {
    if (this.#waiting.size === 0 && this.#hasRoom(sender)) return this.#admit(sender);
    const { promise, resolve } = Promise.withResolvers<BodyRoom | undefined>();
    const { signal } = sender;
    const leave = (room: BodyRoom | undefined): void => {
      cancel();
      signal.removeEventListener("abort", giveUp);
      this.#waiting.delete(waiter);
      resolve(room);
    };
    const waiter: Waiter = { sender, admit: () => leave(this.#admit(sender)) };
    const giveUp = (): void => {
      leave(undefined);
      this.#admitNext();
    };
    const cancel = this.#clock.after(waitTimeout, giveUp);
    signal.addEventListener("abort", giveUp, { once: true });
    this.#waiting.add(waiter);
    this.#checkSenders();
    return promise;
  }

  /** A body larger than the limit is admitted alone. */
  #hasRoom({ bytes }: Sender): boolean {
    return this.#used === 0 || this.#used + bytes <= this.#limit;
  }

  #admit(sender: Sender): BodyRoom {
    let { bytes } = sender;
    this.#used += bytes;
    const time = sendGrace + (bytes / minSendRate) * 1000;
    this.#arriving.set(sender, this.#clock.now() + time);
    let isReleased = false;
    return {
      received: (actual) => {
        this.#arriving.delete(sender);
        this.#used -= bytes - actual;
        bytes = actual;
        this.#admitNext();
      },
      release: () => {
        if (isReleased) return;
        isReleased = true;
        this.#arriving.delete(sender);
        this.#used -= bytes;
        this.#admitNext();
      },
    };
  }

  #admitNext(): void {
    for (const waiter of this.#waiting) {
      if (!this.#hasRoom(waiter.sender)) break;
      waiter.admit();
    }
    this.#checkSenders();
  }

  /** Disconnects slow senders, now and when the next one is late, for as long as others wait. */
  #checkSenders(): void {
    this.#cancelCheck?.();
    this.#cancelCheck = undefined;
    if (this.#waiting.size === 0) return;
    const now = this.#clock.now();
    const late = [...this.#arriving].filter(([, end]) => end <= now).map(([sender]) => sender);
    for (const sender of late) this.#arriving.delete(sender);
    if (this.#arriving.size > 0) {
      const next = Math.min(...this.#arriving.values());
      this.#cancelCheck = this.#clock.after(next - now, () => this.#checkSenders());
    }
    for (const sender of late) sender.abort();
  }
}
