import type { ApiRequest, ApiResponse } from "@dray/client";

/** Bytes of a body from which on a request is worked on in pieces; a smaller one takes a few milliseconds. */
const largeBody = 256 * 1024;
/** To write out so many objects takes long enough for others to notice. */
const largeList = 200;
/** Turns of the event loop that others have between two pieces: a new connection takes several. */
const turnsBetween = 16;

/** Resolves when the next piece of a request may begin; undefined for requests that need no pieces. */
export type Pause = (() => Promise<void>) | undefined;

/**
 * Lets pieces of long work begin one after the other, whichever requests they belong to, so that all other requests get
 * through between two of them. A piece is what happens until the next time that anything is awaited: nothing is held
 * meanwhile, so that requests that wait for each other cannot block.
 */
export class LargeWork {
  readonly #waiting: (() => void)[] = [];
  #isRunning = false;

  /** Resolves when the caller may do the next piece. */
  turn(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push(resolve);
    if (!this.#isRunning) {
      this.#isRunning = true;
      this.#next(turnsBetween);
    }
    return promise;
  }

  #next(left: number): void {
    if (left > 0) {
      setImmediate(() => this.#next(left - 1));
      return;
    }
    this.#waiting.shift()?.();
    if (this.#waiting.length > 0) this.#next(turnsBetween);
    else this.#isRunning = false;
  }

  /** How a request with this body pauses. */
  pauseOf({ body }: Pick<ApiRequest, "body">): Pause {
    return body instanceof Uint8Array && body.length >= largeBody ? () => this.turn() : undefined;
  }

  /** Makes the bytes of a large answer; resolves at once for a small one, and if nobody wants it any more. */
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
