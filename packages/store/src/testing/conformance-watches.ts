import assert from "node:assert/strict";
import { CompactedError, maxOperations, type StoreEvent } from "../base/store.ts";
import { type Check, put, remove, take, write } from "./conformance-tools.ts";

/** Contract of every store for watches. A slow watcher falls `lag` events behind. */
export function watchConformance(check: Check, lag: number): void {
  eventConformance(check, lag);
  writeVisibility(check);
}

/** Tests which events a watch yields, and in which batches. */
function eventConformance(check: Check, lag: number): void {
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
    const keys = Array.from({ length: 3000 }, (_, i) => `/k/${i}`);
    for (let i = 0; i < keys.length; i += maxOperations)
      await write(store, ...keys.slice(i, i + maxOperations).map((key) => put(key, "x")));
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
    for (let i = 0; i < lag; i += 100) {
      await write(store, ...Array.from({ length: 100 }, (_, j) => put(`/${(i + j) % 700}`, `${i + j}`)));
    }
    for (let batch = await first; ; batch = await iterator.next()) {
      for (const each of (batch.value as StoreEvent[]).map((event) => event.value)) values.push(each);
      if (values.length >= lag) break;
    }
    await iterator.return?.();
    assert.deepEqual(
      values,
      Array.from({ length: lag }, (_, i) => `${i}`),
    );
  });

  check("ends a watch when its signal aborts", async (store) => {
    const stop = new AbortController();
    const ended = take(store.watch("/", await store.revision(), stop.signal), 1);
    stop.abort();
    assert.deepEqual(await ended, []);
  });
}

/** Events of writes that fail, overlap or end. */
function writeVisibility(check: Check): void {
  check("shows readers and watchers nothing that is not acknowledged", async (store) => {
    const seen: string[] = [];
    const start = await store.revision();
    const watching = (async () => {
      for await (const batch of store.watch("/", start, new AbortController().signal)) {
        for (const each of batch.map((event) => event.value)) seen.push(each);
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

  check("tells every watch, wherever it begins, the same story", async (store) => {
    const start = await store.revision();
    for (let i = 0; i < 30; i++) {
      await write(store, put(`/a/${i % 4}`, `${i}`), ...(i % 5 === 4 ? [remove(`/a/${(i + 1) % 4}`)] : []));
    }
    const all = await take(store.watch("/", start, new AbortController().signal), 36);
    assert.equal(all.length, 36);
    for (const from of new Set(all.map((event) => event.revision))) {
      const expected = all.filter((event) => event.revision > from);
      if (expected.length === 0) continue;
      assert.deepEqual(await take(store.watch("/", from, new AbortController().signal), 1), expected);
    }
  });

  check("is silent to a watch from the future until that is past", async (store) => {
    const first = await write(store, put("/a", "1"));
    const seen = take(store.watch("/", first + 2, new AbortController().signal), 1);
    await write(store, put("/a", "2"));
    await write(store, put("/a", "3"));
    await write(store, put("/a", "4"));
    assert.deepEqual(
      (await seen).map((event) => event.value),
      ["4"],
    );
    await assert.rejects(store.list("/", { revision: first + 1000 }), /future/);
  });

  check("lets a watch that has caught up run on through a compaction", async (store) => {
    const first = await write(store, put("/a", "1"));
    const watch = store.watch("/", first, new AbortController().signal)[Symbol.asyncIterator]();
    let next = watch.next();
    await write(store, put("/a", "2"));
    assert.equal((await next).value[0].value, "2");
    next = watch.next();
    await write(store, put("/b", "1"));
    assert.equal((await next).value[0].key, "/b");
    next = watch.next();
    await store.compact(await write(store, remove("/b")));
    assert.equal((await next).value[0].type, "delete");
    next = watch.next();
    await write(store, put("/a", "3"));
    assert.equal((await next).value[0].value, "3");
    await watch.return?.();
  });

  check("refuses a watch from just before a compaction, where a deletion may be forgotten", async (store) => {
    await write(store, put("/a", "1"));
    const before = await write(store, put("/b", "1"));
    const deletion = await write(store, remove("/a"));
    await write(store, put("/b", "2"));
    await store.compact(deletion);
    await assert.rejects(take(store.watch("/", before, new AbortController().signal), 1), CompactedError);
    const [event] = await take(store.watch("/", deletion, new AbortController().signal), 1);
    assert.equal(event?.value, "2");
    assert.equal((await store.list("/", { revision: deletion })).entries.length, 1);
  });
}
