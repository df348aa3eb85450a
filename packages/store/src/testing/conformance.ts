import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { type FakeClock, fakeClock } from "@dray/testing/clock";
import { seedOr } from "@dray/testing/random";
import type { Store } from "../base/store.ts";
import { entryConformance } from "./conformance-entries.ts";
import type { Check } from "./conformance-tools.ts";
import { watchConformance } from "./conformance-watches.ts";
import { agreesWithModel } from "./model.ts";

/**
 * Contract of every store; `open` returns an empty one. With `ownTime` the store measures times to live
 * itself, so that the suite waits for them.
 */
export function storeConformance(
  name: string,
  open: (clock: FakeClock) => Promise<Store> | Store,
  { ownTime = false } = {},
): void {
  const check: Check = (title, body) => {
    test(`${name}: ${title}`, { timeout: 60_000 }, async () => {
      const clock = fakeClock();
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
  const seed = seedOr(Date.now() % 1_000_000);
  check(`agrees with a model over a random history (DRAY_SEED=${seed})`, (store) =>
    agreesWithModel(store, seed),
  );
}
