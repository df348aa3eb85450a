import assert from "node:assert/strict";
import { test } from "node:test";
import type { StoreClock } from "./clock.ts";
import { CompactedError, type Operation, type Store, type StoreEvent } from "./store.ts";

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

const put = (key: string, value: string, ttl?: number): Operation => ({
  type: "put",
  key,
  value,
  ...(ttl === undefined ? {} : { ttl }),
});
const remove = (key: string): Operation => ({ type: "delete", key });

async function write(store: Store, ...operations: Operation[]): Promise<number> {
  const result = await store.txn([], operations);
  assert.ok(result.succeeded);
  return result.revision;
}

/** Reads events until `count` have come. */
async function take(watch: AsyncIterable<readonly StoreEvent[]>, count: number): Promise<StoreEvent[]> {
  const events: StoreEvent[] = [];
  for await (const batch of watch) {
    events.push(...batch);
    if (events.length >= count) break;
  }
  return events;
}

/** What every store promises; `open` gives an empty one. */
export function storeConformance(name: string, open: (clock: StoreClock) => Promise<Store> | Store): void {
  const check = (title: string, body: (store: Store, clock: TestClock) => Promise<void>): void => {
    test(`${name}: ${title}`, { timeout: 20_000 }, async () => {
      const clock = new TestClock();
      const store = await open(clock);
      try {
        await body(store, clock);
      } finally {
        await store.close();
      }
    });
  };

  check("keeps a value with the revisions that made it", async (store) => {
    const first = await write(store, put("/a", "1"));
    const second = await write(store, put("/a", "2"));
    assert.ok(second > first);
    assert.deepEqual(await store.get("/a"), {
      key: "/a",
      value: "2",
      modRevision: second,
      createRevision: first,
    });
    assert.equal(await store.revision(), second);
    assert.equal(await store.get("/b"), undefined);
  });

  check("gives all operations of a txn one revision", async (store) => {
    const revision = await write(store, put("/a", "1"), put("/b", "2"));
    assert.equal((await store.get("/a"))?.modRevision, revision);
    assert.equal((await store.get("/b"))?.modRevision, revision);
  });

  check("does nothing when a comparison fails, and says what is there", async (store) => {
    const revision = await write(store, put("/a", "1"));
    const result = await store.txn(
      [
        { key: "/a", modRevision: revision },
        { key: "/b", modRevision: 7 },
      ],
      [put("/a", "2")],
    );
    assert.equal(result.succeeded, false);
    assert.deepEqual(!result.succeeded && result.current.map((entry) => entry.value), ["1"]);
    assert.equal((await store.get("/a"))?.value, "1");
    assert.equal(await store.revision(), revision);
  });

  check("compares with zero for a key that is not there", async (store) => {
    const create = () => store.txn([{ key: "/a", modRevision: 0 }], [put("/a", "1")]);
    assert.ok((await create()).succeeded);
    assert.ok(!(await create()).succeeded);
    await write(store, remove("/a"));
    assert.ok((await create()).succeeded);
  });

  check("lets only one of many writers of one turn win", async (store) => {
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, i) => store.txn([{ key: "/a", modRevision: 0 }], [put("/a", `${i}`)])),
    );
    assert.equal(results.filter((result) => result.succeeded).length, 1);
    assert.equal((await store.get("/a"))?.value, "0");
  });

  check("deletes, and a key made again begins anew", async (store) => {
    const first = await write(store, put("/a", "1"));
    await write(store, remove("/a"));
    assert.equal(await store.get("/a"), undefined);
    const again = await write(store, put("/a", "2"));
    assert.ok(again > first);
    assert.equal((await store.get("/a"))?.createRevision, again);
  });

  check("lists by prefix in the order of keys, in pages, as of one revision", async (store) => {
    for (const key of ["/p/c", "/p/a", "/q/x", "/p/b"]) await write(store, put(key, key));
    const first = await store.list("/p/", { limit: 2 });
    assert.deepEqual(
      first.entries.map((entry) => entry.key),
      ["/p/a", "/p/b"],
    );
    assert.equal(first.more, true);
    await write(store, remove("/p/c"), put("/p/d", "new"), put("/p/a", "changed"));
    const rest = await store.list("/p/", { after: "/p/b", revision: first.revision });
    assert.deepEqual(
      rest.entries.map((entry) => entry.value),
      ["/p/c"],
    );
    assert.equal(rest.more, false);
    assert.equal((await store.list("/p/", { revision: first.revision })).entries[0]?.value, "/p/a");
    assert.deepEqual(
      (await store.list("/p/")).entries.map((entry) => entry.value),
      ["changed", "/p/b", "new"],
    );
    assert.equal(await store.count("/p/"), 3);
  });

  check("watches from a revision: what was, then what comes, each once and in order", async (store) => {
    const start = await store.revision();
    await write(store, put("/a", "1"));
    await write(store, put("/other", "x"));
    const stop = new AbortController();
    const seen = take(store.watch("/a", start, stop.signal), 3);
    await write(store, put("/a", "2"));
    await write(store, remove("/a"));
    const events = await seen;
    assert.deepEqual(
      events.map((event) => [event.type, event.value, event.previous?.value]),
      [
        ["put", "1", undefined],
        ["put", "2", "1"],
        ["delete", "2", "2"],
      ],
    );
    const revisions = events.map((event) => event.revision);
    assert.deepEqual(
      revisions,
      [...revisions].sort((a, b) => a - b),
    );
  });

  check("resumes a watch without a gap, with what each key was before", async (store) => {
    await write(store, put("/a", "1"));
    const middle = await write(store, put("/a", "2"));
    await write(store, put("/a", "3"));
    const events = await take(store.watch("/", middle, new AbortController().signal), 1);
    assert.deepEqual(
      events.map((event) => [event.value, event.previous?.value, event.previous?.modRevision]),
      [["3", "2", middle]],
    );
  });

  check("never splits a revision between batches", async (store) => {
    const start = await store.revision();
    const keys = Array.from({ length: 1500 }, (_, i) => `/k/${i}`);
    await write(store, ...keys.slice(0, 900).map((key) => put(key, "x")));
    await write(store, ...keys.slice(900).map((key) => put(key, "x")));
    let events = 0;
    const last: number[] = [];
    for await (const batch of store.watch("/k/", start, new AbortController().signal)) {
      assert.ok(!last.includes(batch[0]!.revision));
      last.push(batch[batch.length - 1]!.revision);
      events += batch.length;
      if (events >= keys.length) break;
    }
    assert.equal(events, keys.length);
  });

  check("keeps a watcher that does not read from missing anything", async (store) => {
    const iterator = store
      .watch("/", await store.revision(), new AbortController().signal)
      [Symbol.asyncIterator]();
    const first = iterator.next();
    const values: string[] = [];
    const total = 25_000;
    for (let i = 0; i < total; i += 500) {
      await write(store, ...Array.from({ length: 500 }, (_, j) => put(`/${(i + j) % 700}`, `${i + j}`)));
    }
    for (let batch = await first; ; batch = await iterator.next()) {
      values.push(...(batch.value as StoreEvent[]).map((event) => event.value));
      if (values.length >= total) break;
    }
    await iterator.return?.();
    assert.deepEqual(
      values,
      Array.from({ length: total }, (_, i) => `${i}`),
    );
  });

  check("ends a watch when its signal aborts", async (store) => {
    const stop = new AbortController();
    const ended = take(store.watch("/", await store.revision(), stop.signal), 1);
    stop.abort();
    assert.deepEqual(await ended, []);
  });

  check("shows readers and watchers nothing that is not acknowledged", async (store) => {
    const seen: string[] = [];
    const watching = (async () => {
      for await (const batch of store.watch("/", 0, new AbortController().signal)) {
        seen.push(...batch.map((event) => event.value));
        if (seen.length >= 2) break;
      }
    })();
    await write(store, put("/a", "1"));
    const pending = store.txn([], [put("/a", "2")]);
    const read = await store.get("/a");
    const later = store.txn([{ key: "/a", modRevision: read?.modRevision ?? 0 }], [put("/a", "3")]);
    await pending;
    if (read?.value === "1") assert.ok(!(await later).succeeded);
    await later;
    await watching;
    assert.deepEqual(seen.slice(0, 2), ["1", "2"]);
  });

  check("forgets history on compaction, but no value", async (store) => {
    const first = await write(store, put("/a", "1"));
    await write(store, put("/b", "1"));
    await write(store, remove("/b"));
    const last = await write(store, put("/a", "2"));
    await store.compact(last);
    await assert.rejects(store.list("/", { revision: first }), CompactedError);
    await assert.rejects(take(store.watch("/", first, new AbortController().signal), 1), CompactedError);
    assert.equal((await store.get("/a"))?.value, "2");
    assert.equal(await store.count("/"), 1);
    const next = await write(store, put("/a", "3"));
    assert.ok(next > last);
    assert.equal((await take(store.watch("/", last, new AbortController().signal), 1))[0]?.value, "3");
  });

  check("lets entries expire, unless they are written again", async (store, clock) => {
    const start = await write(store, put("/gone", "1", 60), put("/kept", "1", 60));
    await write(store, put("/kept", "2"));
    const deletion = take(store.watch("/gone", start, new AbortController().signal), 1);
    clock.advance(59_000);
    assert.equal(await store.count("/"), 2);
    clock.advance(10_000);
    assert.equal((await deletion)[0]?.type, "delete");
    assert.equal((await store.get("/kept"))?.value, "2");
  });

  check("refuses work once it is closed", async (store) => {
    await store.close();
    await assert.rejects(store.txn([], [put("/a", "1")]), /closed/);
  });
}
