import type { ApiResponse } from "@dray/client";

/** To write out so many objects takes long enough for others to notice. */
const many = 200;
/** Turns of the event loop that others have after a large answer: a new connection takes several. */
const turns = 16;

/**
 * Makes the bytes of large answers one after the other, so that health checks and leases get through between them. Who
 * waits here still has its seat (`Overload`).
 */
export class LargeAnswers {
  #last: Promise<void> = Promise.resolve();

  /** Resolves when the bytes are made, if the answer is large, or when nobody wants them any more. */
  async make(answer: ApiResponse, signal: () => AbortSignal): Promise<void> {
    if (answer.type !== "body" || !isLarge(answer.object)) return;
    const before = this.#last;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#last = promise;
    await before;
    try {
      if (!signal().aborted) answer.bytes();
    } finally {
      leave(turns, resolve);
    }
  }
}

function isLarge(object: object | undefined): boolean {
  const { items, rows } = (object ?? {}) as { items?: unknown; rows?: unknown };
  const objects = items ?? rows;
  return Array.isArray(objects) && objects.length > many;
}

function leave(left: number, done: () => void): void {
  if (left === 0) done();
  else setImmediate(leave, left - 1, done);
}
