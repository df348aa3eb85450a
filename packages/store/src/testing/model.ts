import assert from "node:assert/strict";
import { Random } from "@dray/testing/random";
import { CompactedError, type Entry, type Operation, type Store } from "../base/store.ts";

type State = ReadonlyMap<string, Entry>;

/**
 * Does random work on an empty store and compares each result with that of a model that keeps every state.
 */
export async function agreesWithModel(store: Store, seed: number): Promise<void> {
  const random = new Random(seed);
  const model = new StoreModel(store, random, await store.revision());
  for (let step = 0; step < 400; step++) {
    const choice = random.next();
    if (choice < 0.6) await model.write();
    else if (choice < 0.8) await model.list();
    else if (choice < 0.98) await model.watch();
    else await model.compact();
  }
}

/** Every state of a store, by revision. Each method does one random operation on both, and compares. */
class StoreModel {
  readonly #store: Store;
  readonly #random: Random;
  /** The revision of the empty store. */
  readonly #start: number;
  readonly #states: Map<number, State>;
  readonly #changes: { key: string; revision: number }[] = [];
  #now: number;
  #compacted: number;

  constructor(store: Store, random: Random, start: number) {
    this.#store = store;
    this.#random = random;
    this.#start = start;
    this.#now = start;
    this.#compacted = start;
    this.#states = new Map([[start, new Map()]]);
  }

  async write(): Promise<void> {
    const random = this.#random;
    const state = this.#at(this.#now);
    const keys = [...new Set(Array.from({ length: 1 + random.below(4) }, () => this.#anyKey()))];
    const compare = keys.slice(0, random.below(3)).map((key) => ({
      key,
      modRevision: random.chance(0.8) ? (state.get(key)?.modRevision ?? 0) : 1 + random.below(this.#now),
    }));
    const operations = keys.map(
      (key): Operation =>
        random.chance(0.3) ? { type: "delete", key } : { type: "put", key, value: `${random.below(1e9)}` },
    );
    const result = await this.#store.txn(compare, operations);
    const holds = compare.every(({ key, modRevision }) => (state.get(key)?.modRevision ?? 0) === modRevision);
    assert.equal(result.succeeded, holds);
    if (!result.succeeded) {
      const current = compare.flatMap(({ key }) => state.get(key) ?? []);
      assert.deepEqual(result.current, current);
      return;
    }
    this.#apply(operations, result.revision);
  }

  #apply(operations: readonly Operation[], revision: number): void {
    const state = this.#at(this.#now);
    const next = new Map(state);
    const changed = operations.filter(({ type, key }) => type === "put" || state.has(key));
    for (const operation of changed) {
      const { key } = operation;
      this.#changes.push({ key, revision });
      if (operation.type === "delete") next.delete(key);
      else {
        const createRevision = state.get(key)?.createRevision ?? revision;
        next.set(key, { key, value: operation.value, modRevision: revision, createRevision });
      }
    }
    assert.ok(changed.length > 0 ? revision > this.#now : revision === this.#now);
    this.#now = revision;
    this.#states.set(revision, next);
  }

  async list(): Promise<void> {
    const random = this.#random;
    const revision = random.chance(0.5) ? this.#now : this.#anyRevision();
    const prefix = ["/", "/a/", "/b/", "/a/b/"][random.below(4)]!;
    const after = random.chance(0.3) ? this.#anyKey() : undefined;
    const limit = random.chance(0.5) ? 1 + random.below(6) : undefined;
    const result = this.#store.list(prefix, { revision, ...(after && { after }), ...(limit && { limit }) });
    if (revision < this.#compacted) return assert.rejects(result, CompactedError);
    const all = [...this.#at(revision).values()]
      .filter(({ key }) => key.startsWith(prefix) && (after === undefined || key > after))
      .sort((a, b) => (a.key < b.key ? -1 : 1));
    const entries = all.slice(0, limit);
    assert.deepEqual(await result, { entries, revision, more: entries.length < all.length });
  }

  /** Replaying the events on the state where the watch began must lead to the newest state. */
  async watch(): Promise<void> {
    const from = this.#anyRevision();
    const prefix = ["/", "/a/", "/b/"][this.#random.below(3)]!;
    const state = new Map([...this.#at(from)].filter(([key]) => key.startsWith(prefix)));
    const wanted = new Map([...this.#at(this.#now)].filter(([key]) => key.startsWith(prefix)));
    const last = Math.max(
      0,
      ...this.#changes.filter((event) => event.key.startsWith(prefix)).map(({ revision }) => revision),
    );
    const events = this.#store.watch(prefix, from, new AbortController().signal);
    if (from < this.#compacted) {
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
  }

  async compact(): Promise<void> {
    const revision = this.#anyRevision();
    await this.#store.compact(revision);
    this.#compacted = Math.max(this.#compacted, revision);
  }

  /** Returns the newest state that is not later than a revision. */
  #at(revision: number): State {
    for (let i = revision; ; i--) {
      const state = this.#states.get(i);
      if (state) return state;
    }
  }

  #anyKey(): string {
    return `/${["a", "b", "a/b"][this.#random.below(3)]}/${this.#random.below(5)}`;
  }

  #anyRevision(): number {
    return this.#start + this.#random.below(this.#now - this.#start + 1);
  }
}
