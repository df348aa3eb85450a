import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import type { StoreClock } from "../clock.ts";
import type { Store } from "../store.ts";
import { entryConformance } from "./conformance-entries.ts";
import type { Check } from "./conformance-tools.ts";
import { watchConformance } from "./conformance-watches.ts";
import { agreesWithModel } from "./model.ts";

/** A clock that tests turn by hand. */
export class TestClock implements StoreClock {
  #now = 1_000_000;
  readonly #timers = new Map<object, { due: number; run: () => void }>();

  now(): number {
    return this.#now;
  }

  after(milliseconds: number, run: () => void): () => void {
    const key = {};
    this.#timers.set(key, { due: this.#now + milliseconds, run });
    return () => this.#timers.delete(key);
  }

  advance(milliseconds: number): void {
    this.#now += milliseconds;
    for (const [key, timer] of [...this.#timers]) {
      if (timer.due > this.#now) continue;
      this.#timers.delete(key);
      timer.run();
    }
  }
}

/**
 * Contract of every store; `open` returns an empty one. With `ownTime` the store measures times to live
 * itself, so that the suite waits for them.
 */
export function storeConformance(
  name: string,
  open: (clock: TestClock) => Promise<Store> | Store,
  { ownTime = false } = {},
): void {
  const check: Check = (title, body) => {
    test(`${name}: ${title}`, { timeout: 60_000 }, async () => {
      const clock = new TestClock();
      const store = await open(clock);
      const elapse = async (seconds: number): Promise<void> => {
        if (ownTime) await setTimeout(seconds * 1000);
        else clock.advance(seconds * 1000);
      };
      try {
        await body(store, elapse);
      } finally {
        await store.close();
      }
    });
  };

  entryConformance(check);
  watchConformance(check, ownTime ? 5_000 : 25_000);
  const seed = Number(process.env["DRAY_TEST_SEED"] ?? Date.now() % 1_000_000);
  check(`agrees with a model over a random history (DRAY_TEST_SEED=${seed})`, (store) =>
    agreesWithModel(store, seed),
  );
}
