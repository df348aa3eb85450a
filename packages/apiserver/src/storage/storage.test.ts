import assert from "node:assert/strict";
import { test } from "node:test";
import { type KubeObject, StatusError } from "@dray/api";
import { silentLog } from "@dray/client";
import {
  type ListOptions,
  memoryStore,
  type Operation,
  type Store,
  type StoreEvent,
  StoreTimeoutError,
} from "@dray/store";
import { fakeClock } from "@dray/testing/clock";
import type { CacheEvent } from "./history.ts";
import { Storage } from "./storage.ts";

/** A store whose operations and watches can be made to fail. */
class UnsteadyStore implements Store {
  readonly name = "unsteady";
  readonly #store: Store;
  readonly #watches = new Set<AbortController>();
  /** Error of all operations while it is set. */
  failure: Error | undefined;
  /** Error of writes while it is set. */
  writeFailure: Error | undefined;

  constructor(store: Store) {
    this.#store = store;
  }
  async revision() {
    this.#check();
    return this.#store.revision();
  }
  async get(key: string) {
    this.#check();
    return this.#store.get(key);
  }
  async list(prefix: string, options?: ListOptions) {
    this.#check();
    return this.#store.list(prefix, options);
  }
  async count(prefix: string) {
    this.#check();
    return this.#store.count(prefix);
  }
  async txn(...request: Parameters<Store["txn"]>) {
    this.#check();
    if (this.writeFailure) throw this.writeFailure;
    return this.#store.txn(...request);
  }
  async *watch(prefix: string, from: number, signal: AbortSignal): AsyncGenerator<readonly StoreEvent[]> {
    this.#check();
    const broken = new AbortController();
    this.#watches.add(broken);
    yield* this.#store.watch(prefix, from, AbortSignal.any([signal, broken.signal]));
    this.#check();
    if (broken.signal.aborted) throw new Error("connection reset");
  }
  compact(revision: number) {
    return this.#store.compact(revision);
  }
  close() {
    return this.#store.close();
  }
  /** Ends every watch, like a lost connection. */
  break(): void {
    for (const watch of this.#watches) watch.abort();
    this.#watches.clear();
  }
  #check(): void {
    if (this.failure) throw this.failure;
  }
}

const key = (name: string): string => `/registry/configmaps/default/${name}`;
const configMap = (name: string, value: string, uid = name): KubeObject =>
  ({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name, namespace: "default", uid },
    data: { value },
  }) as unknown as KubeObject;
const put = (name: string, value: string, uid?: string): Operation => ({
  type: "put",
  key: key(name),
  value: JSON.stringify(configMap(name, value, uid)),
});

async function setup() {
  const clock = fakeClock(0);
  const inner = memoryStore(clock);
  const store = new UnsteadyStore(inner);
  const storage = new Storage(store, clock, silentLog, JSON.stringify);
  await storage.start();
  const seen: string[] = [];
  const show = ({ type, object }: CacheEvent): string =>
    `${type} ${object.metadata.name} ${(object as unknown as { data: { value: string } }).data.value}`;
  storage.cache("configmaps").subscribe((event) => seen.push(show(event)));
  const reader = storage.cache("configmaps").read(storage.revision, () => {});
  return { clock, inner, store, storage, seen, read: () => reader?.next()?.map(show) };
}

test("after a lost watch of the store, caches and watches miss no events", async () => {
  const { clock, inner, store, storage, seen, read } = await setup();
  await storage.put(key("a"), configMap("a", "1"), 0);
  store.failure = new Error("connection refused");
  store.break();
  await clock.advanceInSteps(200, 50);
  assert.equal(storage.healthy, false);
  await inner.txn([], [put("a", "2")]);
  await inner.txn([], [put("b", "1")]);
  await inner.txn([], [{ type: "delete", key: key("a") }]);
  await clock.advanceInSteps(20_000, 50);
  assert.deepEqual(seen, ["ADDED a 1"]);
  store.failure = undefined;
  await clock.advanceInSteps(10_000, 50);
  assert.deepEqual(seen, ["ADDED a 1", "MODIFIED a 2", "ADDED b 1", "DELETED a 2"]);
  assert.deepEqual(read(), seen);
  assert.equal(storage.healthy, true);
  assert.ok(await storage.put(key("c"), configMap("c", "1"), 0));
  await storage.close();
});

test("after a restart, watches continue at their revision, if the store still has it", async () => {
  for (const last of ["put", "delete"]) {
    const { clock, inner, storage } = await setup();
    const first = await storage.put(key("a"), configMap("a", "1"), 0);
    const second = await storage.put(key("a"), configMap("a", "2"), first!.revision);
    await storage.put(key("b"), configMap("b", "1"), 0);
    await storage.delete(key("a"), second!.revision);
    if (last === "put") await storage.put(key("c"), configMap("c", "1"), 0);
    await storage.close();

    const again = new Storage(inner, clock, silentLog, JSON.stringify);
    await again.start();
    again.bootstrapped();
    const received =
      (await again
        .cache("configmaps")
        .read(first!.revision, () => {})
        ?.next()) ?? [];
    assert.deepEqual(
      received.map(({ type, object, previous }) => [
        type,
        object.metadata.name,
        previous?.metadata.resourceVersion,
      ]),
      [
        ["MODIFIED", "a", String(first!.revision)],
        ["ADDED", "b", undefined],
        ["DELETED", "a", String(second!.revision)],
        ...(last === "put" ? [["ADDED", "c", undefined]] : []),
      ],
    );
    assert.equal(again.cache("configmaps").size, last === "put" ? 2 : 1);
    await again.put(key("d"), configMap("d", "1"), 0);
    await again.close();

    await inner.compact(second!.revision);
    const late = new Storage(inner, clock, silentLog, JSON.stringify);
    await late.start();
    const cache = late.cache("configmaps");
    assert.equal(
      cache.read(first!.revision, () => {}),
      undefined,
    );
    assert.ok(cache.read(late.revision - 1, () => {}));
    await late.close();
  }
});

test("after compaction the state is loaded again, and watches must begin again", async () => {
  const { clock, inner, store, storage, seen, read } = await setup();
  for (const name of ["kept", "gone", "changed", "replaced"])
    await storage.put(key(name), configMap(name, "1"), 0);
  seen.length = 0;
  const before = storage.revision;
  store.failure = new Error("connection refused");
  store.break();
  await clock.advanceInSteps(200, 50);
  await inner.txn([], [put("changed", "2")]);
  await inner.txn([], [{ type: "delete", key: key("gone") }]);
  await inner.txn([], [{ type: "delete", key: key("replaced") }]);
  await inner.txn([], [put("replaced", "2", "another")]);
  await inner.txn([], [put("new", "1")]);
  await inner.compact(await inner.revision());
  store.failure = undefined;
  await clock.advanceInSteps(10_000, 50);
  const cache = storage.cache("configmaps");
  assert.deepEqual(seen.sort(), [
    "ADDED new 1",
    "ADDED replaced 2",
    "DELETED gone 1",
    "DELETED replaced 1",
    "MODIFIED changed 2",
  ]);
  assert.equal(read(), undefined, "a watch must not go on as if it had seen everything");
  assert.equal(
    cache.read(before, () => {}),
    undefined,
  );
  assert.ok(cache.read(storage.revision, () => {}));
  assert.equal(cache.get(key("gone")), undefined);
  assert.equal(storage.revision, await inner.revision());
  assert.equal(storage.healthy, true);
  await storage.put(key("later"), configMap("later", "1"), 0);
  assert.equal(cache.get(key("later"))?.revision, storage.revision);
  await storage.close();
});

test("a write that the store rejects is a Status, and later ones succeed", async () => {
  const { clock, store, storage } = await setup();
  const status = async (failure: Error): Promise<object> => {
    store.writeFailure = failure;
    try {
      await storage.put(key("a"), configMap("a", "1"), 0);
    } catch (error) {
      assert.ok(error instanceof StatusError);
      const { code, reason, message } = error.status;
      return { code, reason, message };
    }
    throw new assert.AssertionError({ message: "the write was acknowledged" });
  };
  assert.deepEqual(await status(new Error("database or disk is full")), {
    code: 500,
    reason: undefined,
    message: "database or disk is full",
  });
  await clock.advanceInSteps(100, 50);
  assert.equal(storage.healthy, false, "a disk that is full");
  assert.deepEqual(await status(new StoreTimeoutError("late")), {
    code: 504,
    reason: "Timeout",
    message: "Timeout: request did not complete within requested timeout - context deadline exceeded",
  });
  store.writeFailure = undefined;
  await clock.advanceInSteps(6_000, 50);
  assert.equal(storage.healthy, true);
  assert.ok(await storage.put(key("a"), configMap("a", "1"), 0));
  await storage.close();
});

test("a value that is not an object is skipped, and a server does not start with one", async () => {
  const { clock, inner, storage, seen } = await setup();
  await storage.put(key("a"), configMap("a", "1"), 0);
  await inner.txn([], [{ type: "put", key: key("a"), value: "k8s\u0000" }]);
  await inner.txn([], [put("b", "1")]);
  await clock.advanceInSteps(50, 50);
  assert.deepEqual(seen, ["ADDED a 1", "DELETED a 1", "ADDED b 1"]);
  await storage.close();
  const again = new Storage(inner, clock, silentLog, JSON.stringify);
  await assert.rejects(
    again.start(),
    /^Error: the store memory is damaged: the value at \/registry\/configmaps\/default\/a is not an object in JSON: .*; restore /s,
  );
});

test("an object that is too large for etcd is rejected, by the size that kube-apiserver would store", async () => {
  const { storage } = await setup();
  const large = (kind: string, characters: number) =>
    ({ ...configMap("a", "x".repeat(characters)), kind }) as unknown as KubeObject;
  const tooLarge = (error: unknown): boolean =>
    error instanceof StatusError &&
    error.status.code === 500 &&
    error.status.reason === undefined &&
    error.status.message === "etcdserver: request is too large";
  const limit = 1.5 * 2 ** 20;
  for (const kind of ["ConfigMap", "Custom"]) {
    await assert.rejects(storage.put(key("a"), large(kind, limit), 0), tooLarge, kind);
    assert.ok(await storage.put(key(kind), large(kind, limit - 400), 0));
  }
  // Quotes are escaped in JSON only.
  assert.ok(await storage.put(key("b"), configMap("b", '"'.repeat(limit - 400)), 0));
  await assert.rejects(
    storage.put(key("c"), { ...configMap("c", '"'.repeat(limit - 400)), kind: "Custom" } as KubeObject, 0),
    tooLarge,
  );
  await storage.close();
});

test("a store that does not respond is unhealthy until it responds again", async () => {
  const { clock, store, storage } = await setup();
  const { promise, resolve } = Promise.withResolvers<number>();
  store.revision = () => promise;
  await clock.advanceInSteps(8_000, 50);
  assert.equal(storage.healthy, false);
  store.revision = async () => 1;
  await clock.advanceInSteps(8_000, 50);
  assert.equal(storage.healthy, true);
  resolve(1);
  await storage.close();
});

test("a write that conflicts with a deletion waits until the cache shows it", async () => {
  const { inner, storage } = await setup();
  const stored = await storage.put(key("a"), configMap("a", "1"), 0);
  const deleted = inner.txn([], [{ type: "delete", key: key("a") }]);
  assert.equal(await storage.put(key("a"), configMap("a", "2"), stored?.revision ?? 0), undefined);
  assert.equal(storage.cache("configmaps").get(key("a")), undefined);
  assert.equal(await storage.delete(key("a"), stored?.revision ?? 0), undefined);
  await deleted;
  await storage.close();
});

test("a store that was restored from a backup is loaded again", async () => {
  const { clock, store, storage, inner } = await setup();
  await storage.put(key("a"), configMap("a", "1"), 0);
  await storage.put(key("b"), configMap("b", "1"), 0);
  const copy = new UnsteadyStore(memoryStore(clock));
  await copy.txn([], [put("a", "1")]);
  store.revision = () => copy.revision();
  store.list = (...request) => copy.list(...request);
  store.watch = (...request) => copy.watch(...request);
  store.txn = (...request) => copy.txn(...request);
  store.break();
  await clock.advanceInSteps(1_000, 50);
  assert.equal(storage.revision, await copy.revision());
  assert.ok(storage.cache("configmaps").get(key("a")));
  assert.equal(storage.cache("configmaps").get(key("b")), undefined);
  assert.ok(await storage.put(key("c"), configMap("c", "1"), 0));
  await storage.close();
  await inner.close();
});
