import assert from "node:assert/strict";
import { test } from "node:test";
import { type Clock, systemClock } from "@dray/client";
import { CompactedError, memoryStore } from "@dray/store";
import { createServer } from "../index.ts";

test("the store compacts history that is older than two intervals of five minutes", async () => {
  const timers: { milliseconds: number; run: () => void }[] = [];
  const clock: Clock = {
    now: () => systemClock.now(),
    after(milliseconds, run) {
      const timer = { milliseconds, run };
      timers.push(timer);
      return () => void timers.splice(timers.indexOf(timer) >>> 0, 1);
    },
  };
  /** Runs everything scheduled within five minutes. */
  const interval = async (): Promise<void> => {
    for (const timer of timers.filter(({ milliseconds }) => milliseconds === 5 * 60_000)) {
      timers.splice(timers.indexOf(timer), 1);
      timer.run();
    }
    await new Promise(setImmediate);
  };
  const store = memoryStore(systemClock);
  const server = await createServer({ store, clock });
  const first = await store.revision();
  await store.txn([], [{ type: "put", key: "/registry/configmaps/default/a", value: "{}" }]);
  await interval();
  await store.list("/registry/", { revision: first });
  await interval();
  await interval();
  await assert.rejects(store.list("/registry/", { revision: first }), CompactedError);
  await server.close();
  assert.ok(
    !timers.some(({ milliseconds }) => milliseconds === 5 * 60_000),
    "a closed server compacts no more",
  );
});
