import assert from "node:assert/strict";
import { CompactedError, maxOperations } from "../base/store.ts";
import { type Check, put, remove, take, write } from "./conformance-tools.ts";

/** Contract of every store for entries and txns. */
export function entryConformance(check: Check): void {
  writeConformance(check);
  listConformance(check);
  txnConformance(check);
  sizeConformance(check);
}

/** Single entries: their revisions and comparisons. */
function writeConformance(check: Check): void {
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
    assert.equal((await store.get("/a"))?.value, `${results.findIndex((result) => result.succeeded)}`);
  });

  check("deletes, and a key made again begins anew", async (store) => {
    const first = await write(store, put("/a", "1"));
    await write(store, remove("/a"));
    assert.equal(await store.get("/a"), undefined);
    const again = await write(store, put("/a", "2"));
    assert.ok(again > first);
    assert.equal((await store.get("/a"))?.createRevision, again);
  });
}

/** Lists, compaction and expiry. */
function listConformance(check: Check): void {
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

  check("lets entries expire, unless they are written again", async (store, elapse) => {
    const start = await write(store, put("/gone", "1", 3), put("/kept", "1", 3));
    await write(store, put("/kept", "2"));
    const deletion = take(store.watch("/gone", start, new AbortController().signal), 1);
    await elapse(2);
    assert.equal(await store.count("/"), 2);
    await elapse(7);
    const [event] = await deletion;
    assert.deepEqual([event?.type, event?.value, event?.previous?.modRevision], ["delete", "1", start]);
    assert.equal((await store.get("/kept"))?.value, "2");
  });
}

/** Txns of several operations. */
function txnConformance(check: Check): void {
  check("does several operations of a txn at once, puts and deletions, on conditions", async (store) => {
    const first = await write(store, put("/a", "1"), put("/b", "1"));
    const conditions = [
      { key: "/a", modRevision: first },
      { key: "/c", modRevision: 0 },
    ];
    const seen = take(store.watch("/", first, new AbortController().signal), 3);
    const result = await store.txn(conditions, [
      put("/a", "2"),
      remove("/b"),
      remove("/none"),
      put("/c", "1"),
    ]);
    assert.ok(result.succeeded);
    assert.deepEqual(
      (await seen).map(({ type, key, revision }) => [type, key, revision]),
      [
        ["put", "/a", result.revision],
        ["delete", "/b", result.revision],
        ["put", "/c", result.revision],
      ],
    );
    assert.ok(!(await store.txn(conditions, [remove("/c")])).succeeded);
    const nothing = await store.txn([], [remove("/none")]);
    assert.deepEqual(nothing, { succeeded: true, revision: result.revision });
  });

  check("refuses a txn that is too long or names a key twice, and does nothing of it", async (store) => {
    const revision = await write(store, put("/a", "1"));
    const many = Array.from({ length: maxOperations + 1 }, (_, i) => put(`/many/${i}`, "x"));
    await assert.rejects(store.txn([], many), /at most 128/);
    await assert.rejects(store.txn([], [put("/a", "2"), remove("/a")]), /at most one operation/);
    assert.equal((await store.get("/a"))?.value, "1");
    assert.equal(await store.revision(), revision);
  });

  check("counts right under many writers at once", async (store) => {
    await write(store, put("/counter", "0"));
    const start = await store.revision();
    const increment = async (): Promise<number> => {
      while (true) {
        const entry = await store.get("/counter");
        const result = await store.txn(
          [{ key: "/counter", modRevision: entry!.modRevision }],
          [put("/counter", `${Number(entry!.value) + 1}`)],
        );
        if (result.succeeded) return result.revision;
        assert.ok(result.current[0]!.modRevision > entry!.modRevision, "refused without a reason");
      }
    };
    const writer = async (): Promise<number[]> => {
      const revisions = [];
      for (let i = 0; i < 10; i++) revisions.push(await increment());
      return revisions;
    };
    const revisions = (await Promise.all(Array.from({ length: 12 }, writer))).flat();
    assert.equal((await store.get("/counter"))?.value, "120");
    assert.equal(new Set(revisions).size, 120);
    const events = await take(store.watch("/counter", start, new AbortController().signal), 120);
    assert.deepEqual(
      events.map((event) => event.value),
      Array.from({ length: 120 }, (_, i) => `${i + 1}`),
    );
  });
}

/** Large values, odd keys, long lists, and the end. */
function sizeConformance(check: Check): void {
  check("keeps large values, and keys of any characters in the order of their bytes", async (store) => {
    const large = 'ä\u0000"𝄞'.repeat(1_500_000 / 8);
    const start = await write(store, put("/large", large));
    assert.equal((await store.get("/large"))?.value, large);
    await write(store, remove("/large"));
    const [event] = await take(store.watch("/large", start, new AbortController().signal), 1);
    assert.ok(event?.value === large && event.previous?.value === large);
    const keys = ["\u0001", " ", "%", "a", "a b", "a%_", "a/b", "a:b", "ä", "\u2028", "\uffee", "\u{1d11e}"];
    for (const key of [...keys].reverse()) await write(store, put(`/odd/${key}`, key));
    await write(store, put("/odd", "no"), put("/odd0", "no"));
    const all = (await store.list("/odd/")).entries.map((entry) => entry.value);
    assert.deepEqual(all, keys);
    for (const [index, key] of keys.entries()) {
      const { entries } = await store.list("/odd/", { after: `/odd/${key}`, limit: 2 });
      assert.deepEqual(
        entries.map((entry) => entry.value),
        keys.slice(index + 1, index + 3),
      );
    }
  });

  check("lists more than a page's worth as of one revision, while others write", async (store) => {
    const keys = Array.from({ length: 1300 }, (_, i) => `/many/${i + 1000}`);
    for (let i = 0; i < keys.length; i += 100)
      await write(store, ...keys.slice(i, i + 100).map((key) => put(key, "old")));
    const listing = store.list("/many/");
    const overwriting = keys.map((key) => store.txn([], [put(key, "new")]));
    const { entries, revision } = await listing;
    assert.equal(entries.length, keys.length);
    assert.ok(entries.every((entry) => entry.modRevision <= revision));
    await Promise.all(overwriting);
    assert.deepEqual((await store.list("/many/", { revision })).entries, entries);
    const limited = await store.list("/many/", { limit: 1200 });
    assert.deepEqual([limited.entries.length, limited.more], [1200, true]);
  });

  check("refuses work once it is closed", async (store) => {
    await store.close();
    await assert.rejects(store.txn([], [put("/a", "1")]), /closed/);
  });
}
