import assert from "node:assert/strict";
import { Random } from "@dray/testing/random";
import { CompactedError, type Entry, type Operation, type Store } from "../base/store.ts";

type State = ReadonlyMap<string, Entry>;

/**
 * Does random work on an empty store and compares every answer with that of a model which keeps every state.
 */
export async function agreesWithModel(store: Store, seed: number): Promise<void> {
  const random = new Random(seed);
  const anyKey = (): string => `/${["a", "b", "a/b"][random.below(3)]}/${random.below(5)}`;
  const start = await store.revision();
  let now = start;
  let compacted = start;
  const states = new Map<number, State>([[start, new Map()]]);
  const changes: { key: string; revision: number }[] = [];
  /** The newest state that is not later than a revision. */
  const at = (revision: number): State => {
    for (let i = revision; ; i--) {
      const state = states.get(i);
      if (state) return state;
    }
  };

  const write = async (): Promise<void> => {
    const state = at(now);
    const keys = [...new Set(Array.from({ length: 1 + random.below(4) }, anyKey))];
    const compare = keys.slice(0, random.below(3)).map((key) => ({
      key,
      modRevision: random.chance(0.8) ? (state.get(key)?.modRevision ?? 0) : 1 + random.below(now),
    }));
    const operations = keys.map(
      (key): Operation =>
        random.chance(0.3) ? { type: "delete", key } : { type: "put", key, value: `${random.below(1e9)}` },
    );
    const result = await store.txn(compare, operations);
    const holds = compare.every(({ key, modRevision }) => (state.get(key)?.modRevision ?? 0) === modRevision);
    assert.equal(result.succeeded, holds);
    if (!result.succeeded) {
      const current = compare.flatMap(({ key }) => state.get(key) ?? []);
      assert.deepEqual(result.current, current);
      return;
    }
    const next = new Map(state);
    const { revision } = result;
    const changed = operations.filter(({ type, key }) => type === "put" || state.has(key));
    for (const operation of changed) {
      const { key } = operation;
      changes.push({ key, revision });
      if (operation.type === "delete") next.delete(key);
      else {
        const createRevision = state.get(key)?.createRevision ?? revision;
        next.set(key, { key, value: operation.value, modRevision: revision, createRevision });
      }
    }
    assert.ok(changed.length > 0 ? revision > now : revision === now);
    now = revision;
    states.set(now, next);
  };

  const list = async (): Promise<void> => {
    const revision = random.chance(0.5) ? now : start + random.below(now - start + 1);
    const prefix = ["/", "/a/", "/b/", "/a/b/"][random.below(4)]!;
    const after = random.chance(0.3) ? anyKey() : undefined;
    const limit = random.chance(0.5) ? 1 + random.below(6) : undefined;
    const answer = store.list(prefix, { revision, ...(after && { after }), ...(limit && { limit }) });
    if (revision < compacted) return assert.rejects(answer, CompactedError);
    const all = [...at(revision).values()]
      .filter(({ key }) => key.startsWith(prefix) && (after === undefined || key > after))
      .sort((a, b) => (a.key < b.key ? -1 : 1));
    const entries = all.slice(0, limit);
    assert.deepEqual(await answer, { entries, revision, more: entries.length < all.length });
  };

  const watch = async (): Promise<void> => {
    const from = start + random.below(now - start + 1);
    const prefix = ["/", "/a/", "/b/"][random.below(3)]!;
    // Replaying the events on the state where the watch began must lead to the newest state.
    const state = new Map([...at(from)].filter(([key]) => key.startsWith(prefix)));
    const wanted = new Map([...at(now)].filter(([key]) => key.startsWith(prefix)));
    const last = Math.max(
      0,
      ...changes.filter((event) => event.key.startsWith(prefix)).map(({ revision }) => revision),
    );
    const events = store.watch(prefix, from, new AbortController().signal);
    if (from < compacted) {
      return assert.rejects(async () => await events[Symbol.asyncIterator]().next(), CompactedError);
    }
    if (last <= from) return;
    let revision = from;
    for await (const batch of events) {
      assert.ok(batch[0]!.revision > revision, "a revision was split or came twice");
      for (const event of batch) {
        assert.ok(event.revision >= revision);
        revision = event.revision;
        assert.deepEqual(event.previous, state.get(event.key));
        if (event.type === "delete") state.delete(event.key);
        else {
          const { key, value, createRevision } = event;
          state.set(key, { key, value, modRevision: revision, createRevision });
        }
      }
      if (revision >= last) break;
    }
    assert.equal(revision, last);
    assert.deepEqual(new Map([...state].sort()), new Map([...wanted].sort()));
  };

  for (let step = 0; step < 400; step++) {
    const choice = random.next();
    if (choice < 0.6) await write();
    else if (choice < 0.8) await list();
    else if (choice < 0.98) await watch();
    else {
      const revision = start + random.below(now - start + 1);
      await store.compact(revision);
      compacted = Math.max(compacted, revision);
    }
  }
}
