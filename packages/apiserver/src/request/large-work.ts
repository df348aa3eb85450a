import { StatusError } from "@dray/api";
import type { Pauses } from "@dray/api/codec";
import type { ApiRequest, ApiResponse } from "@dray/client";

/**
 * Minimum size in bytes of a body whose request is processed in pieces; a smaller one takes a few
 * milliseconds.
 */
const largeBody = 256 * 1024;
/** Minimum length of a list that takes noticeably long to encode. */
const largeList = 200;
/** Turns of the event loop between two pieces: a new connection needs several. */
const turnsBetween = 16;

/** Milliseconds that the pieces of small requests may take in one turn of the event loop. */
const pieceTime = 10;

/** Pauses of one request. */
export interface RequestPauses extends Pauses {
  /**
   * Resolves when the next piece of the request may begin. Throws 504 if the client has disconnected, or the
   * time of the request is over: nobody waits for the rest.
   */
  (): Promise<void>;
  /** Begins a piece now. Returns a function that reports whether it has taken long enough for a pause. */
  readonly begin: () => () => boolean;
  /** The body is large: each piece of the request may take long. */
  readonly isLarge: boolean;
}

/** Undefined for work of the server itself, which is small. */
export type Pause = RequestPauses | undefined;

/**
 * Serializes the pieces of long work of all requests, so that other requests proceed between two of them. A
 * piece ends at the next await: no lock is held meanwhile, so that requests that wait for each other cannot
 * deadlock.
 */
export class LargeWork {
  readonly #now: () => number;
  readonly #waiting: (() => void)[] = [];
  #isRunning = false;
  /** When a request asked first in this turn of the event loop. */
  #turnBegan: number | undefined;

  /** `now` returns milliseconds. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Resolves when the caller may run its next piece. */
  turn(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push(resolve);
    if (!this.#isRunning) {
      this.#isRunning = true;
      this.#next(turnsBetween);
    }
    return promise;
  }

  #next(turns: number): void {
    if (turns > 0) {
      setImmediate(() => this.#next(turns - 1));
      return;
    }
    this.#beginTurn();
    this.#waiting.shift()?.();
    if (this.#waiting.length > 0) this.#next(turnsBetween);
    else this.#isRunning = false;
  }

  /**
   * Returns the pauses of a request. One with a large body waits at each of them, another if the event loop
   * has been held up: a small patch may change a large object.
   */
  pausesOf(request: Pick<ApiRequest, "body" | "signal">): RequestPauses {
    const { body } = request;
    const isLarge = body instanceof Uint8Array && body.length >= largeBody;
    const isDue = (): boolean => this.#isDue();
    const begin = (): (() => boolean) => {
      const began = this.#now();
      return () => this.#now() - began >= pieceTime;
    };
    this.#beginTurn();
    const pause = async (): Promise<void> => {
      if (!isLarge && !isDue()) return;
      await this.turn();
      if (request.signal.aborted) throw StatusError.of("Timeout", "the request has ended");
    };
    return Object.assign(pause, { isDue, begin, isLarge });
  }

  #isDue(): boolean {
    return this.#now() - this.#beginTurn() >= pieceTime;
  }

  /** Returns when work began in this turn of the event loop: now if nothing has. */
  #beginTurn(): number {
    if (this.#turnBegan !== undefined) return this.#turnBegan;
    this.#turnBegan = this.#now();
    setImmediate(() => {
      this.#turnBegan = undefined;
    });
    return this.#turnBegan;
  }

  /** Encodes a large response; resolves at once for a small one, and if the client has disconnected. */
  async answer(answer: ApiResponse, signal: () => AbortSignal): Promise<void> {
    if (answer.type !== "body" || !isLarge(answer.object)) return;
    await this.turn();
    if (!signal().aborted) answer.bytes();
  }
}

function isLarge(object: object | undefined): boolean {
  const { items, rows } = (object ?? {}) as { items?: unknown; rows?: unknown };
  const objects = items ?? rows;
  return Array.isArray(objects) && objects.length > largeList;
}
