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

/** Resolves when the next piece of a request may begin; undefined for requests that need no pieces. */
export type Pause = (() => Promise<void>) | undefined;

/**
 * Serializes the pieces of long work of all requests, so that other requests proceed between two of them. A
 * piece ends at the next await: no lock is held meanwhile, so that requests that wait for each other cannot
 * deadlock.
 */
export class LargeWork {
  readonly #waiting: (() => void)[] = [];
  #isRunning = false;

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
    this.#waiting.shift()?.();
    if (this.#waiting.length > 0) this.#next(turnsBetween);
    else this.#isRunning = false;
  }

  /** Returns the pause function of a request with this body. */
  pauseOf({ body }: Pick<ApiRequest, "body">): Pause {
    return body instanceof Uint8Array && body.length >= largeBody ? () => this.turn() : undefined;
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
