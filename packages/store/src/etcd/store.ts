import type { StoreClock } from "../base/clock.ts";
import {
  CompactedError,
  type Compare,
  checkOperations,
  type Entry,
  endOf,
  type ListOptions,
  type Operation,
  type Store,
  type StoreEvent,
  type TxnResult,
} from "../base/store.ts";
import type { Of } from "./codec.ts";
import { Connection, type Endpoints } from "./connection.ts";
import { Leases } from "./leases.ts";
import { compact, deletion, equalModRevision, range, txn } from "./messages.ts";
import { watchEvents } from "./watch.ts";

export interface EtcdOptions extends Endpoints {
  /** Goes before every key, so that several clusters can share an etcd; none if absent. */
  readonly prefix?: string;
}

/**
 * A store in an etcd cluster (v3, 3.4 or newer). Revisions are etcd's own, so other users of the same etcd
 * make gaps in ours. Connects with the first call, and again whenever a connection breaks. The time to live
 * of an entry is measured by etcd. Throws if a URL or a certificate is invalid.
 */
export function etcdStore(options: EtcdOptions, clock: StoreClock): Store {
  return new EtcdStore(options, clock);
}

/** Entries that are asked for at once: large ranges come in pages. */
const pageSize = 500;

type KeyValue = Of<(typeof range)["response"]>["kvs"][number];

class EtcdStore implements Store {
  readonly name: string;
  readonly #prefix: string;
  readonly #connection: Connection;
  readonly #leases: Leases;
  readonly #closed = new AbortController();

  constructor(options: EtcdOptions, clock: StoreClock) {
    this.#prefix = options.prefix ?? "";
    this.name = options.endpoints.join(",") + this.#prefix;
    this.#connection = new Connection(options);
    this.#leases = new Leases(this.#connection, clock);
  }

  async revision(): Promise<number> {
    const { header } = await this.#connection.call(range, { key: `${this.#prefix}/`, countOnly: true }, true);
    return header?.revision ?? 0;
  }

  async get(key: string): Promise<Entry | undefined> {
    const { kvs } = await this.#connection.call(range, { key: this.#prefix + key }, true);
    return kvs[0] && this.#entry(kvs[0]);
  }

  async list(prefix: string, options: ListOptions = {}) {
    const { after, limit = Number.POSITIVE_INFINITY } = options;
    let revision = options.revision;
    let key = after !== undefined && after >= prefix ? `${after}\u0000` : prefix;
    const entries: Entry[] = [];
    while (true) {
      const page = await this.#connection.call(
        range,
        {
          key: this.#prefix + key,
          rangeEnd: endOf(this.#prefix + prefix),
          limit: Math.min(limit - entries.length, pageSize),
          ...(revision === undefined ? {} : { revision }),
        },
        true,
      );
      revision ??= page.header?.revision ?? 0;
      for (const kv of page.kvs) entries.push(this.#entry(kv));
      if (!page.more || entries.length >= limit) return { entries, revision, more: page.more };
      key = `${entries[entries.length - 1]!.key}\u0000`;
    }
  }

  async count(prefix: string): Promise<number> {
    const key = this.#prefix + prefix;
    const { count } = await this.#connection.call(
      range,
      { key, rangeEnd: endOf(key), countOnly: true },
      true,
    );
    return count;
  }

  async txn(compare: readonly Compare[], operations: readonly Operation[]): Promise<TxnResult> {
    this.#closed.signal.throwIfAborted();
    checkOperations(operations);
    const leases = await Promise.all(
      operations.map((operation) =>
        operation.type === "put" && operation.ttl !== undefined ? this.#leases.get(operation.ttl) : 0n,
      ),
    );
    const answer = await this.#connection.call(
      txn,
      {
        compare: compare.map(({ key, modRevision }) => ({
          ...equalModRevision,
          key: this.#prefix + key,
          modRevision,
        })),
        success: operations.map((operation, index) => {
          const key = this.#prefix + operation.key;
          return operation.type === "delete"
            ? { deleteRange: { key } }
            : { put: { key, value: operation.value, lease: leases[index]! } };
        }),
        failure: compare.map(({ key }) => ({ range: { key: this.#prefix + key } })),
      },
      false,
    );
    const revision = answer.header?.revision ?? 0;
    if (answer.succeeded) return { succeeded: true, revision };
    const current = answer.responses.flatMap(({ range }) => range?.kvs ?? []).map((kv) => this.#entry(kv));
    return { succeeded: false, revision, current };
  }

  async *watch(prefix: string, from: number, signal: AbortSignal): AsyncGenerator<readonly StoreEvent[]> {
    const stop = AbortSignal.any([signal, this.#closed.signal]);
    for await (const events of watchEvents(this.#connection, this.#prefix + prefix, from, stop)) {
      yield events.map(({ type, kv, previous }): StoreEvent => {
        // Each event of etcd has its pair.
        const entry = this.#entry(kv!);
        const before = previous && this.#entry(previous);
        const { key, modRevision: revision } = entry;
        // The deleted value is unknown if its revision has been compacted since.
        const last = type === deletion ? before : entry;
        return {
          type: type === deletion ? "delete" : "put",
          key,
          value: last?.value ?? "",
          revision,
          createRevision: last?.createRevision ?? 0,
          ...(before && { previous: before }),
        };
      });
    }
  }

  async compact(revision: number): Promise<void> {
    try {
      const newest = await this.revision();
      await this.#connection.call(compact, { revision: Math.min(revision, newest) }, true);
    } catch (error) {
      // Somebody else has compacted as much.
      if (!(error instanceof CompactedError)) throw error;
    }
  }

  async close(): Promise<void> {
    this.#closed.abort(new Error("the store is closed"));
    this.#connection.close();
  }

  #entry(kv: KeyValue): Entry {
    const { key, value, modRevision, createRevision } = kv;
    return { key: key.slice(this.#prefix.length), value, modRevision, createRevision };
  }
}
