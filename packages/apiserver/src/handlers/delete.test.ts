import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "@dray/client";
import { memoryStore } from "@dray/store";
import { testServer } from "../testing/server.ts";

const collection = "/api/v1/namespaces/default/configmaps";

/** A server with config maps whose next writes wait for `release`. */
async function slowStore({ maps }: { readonly maps: number }) {
  const store = memoryStore(systemClock);
  const txn = store.txn.bind(store);
  let gate: Promise<void> | undefined;
  let waiting = 0;
  store.txn = async (...args) => {
    waiting++;
    await gate;
    return txn(...args);
  };
  const { call } = await testServer({ store });
  for (let i = 0; i < maps; i++) await call("POST", collection, { body: { metadata: { name: `map-${i}` } } });
  const { promise, resolve: release } = Promise.withResolvers<void>();
  gate = promise;
  waiting = 0;
  return { call, release, waiting: () => waiting };
}

test("objects of a collection are deleted a few at a time", async () => {
  const { call, release, waiting } = await slowStore({ maps: 100 });
  const answer = call("DELETE", collection);
  while (waiting() < 16) await new Promise((resolve) => setImmediate(resolve));
  release();
  const { status, body } = await answer;
  assert.equal(status, 200);
  const names = (body as { items: { metadata: { name: string } }[] }).items.map((item) => item.metadata.name);
  assert.equal(names.length, 100);
  assert.deepEqual(names, names.toSorted());
  assert.deepEqual(((await call("GET", collection)).body as { items: unknown[] }).items, []);
});

test("the deletion of a collection ends with its request", async () => {
  const { call, release } = await slowStore({ maps: 100 });
  assert.equal((await call("DELETE", `${collection}?timeout=50ms`)).status, 504);
  release();
  const left = async () => ((await call("GET", collection)).body as { items: unknown[] }).items.length;
  for (let i = 0; i < 100; i++) await new Promise((resolve) => setImmediate(resolve));
  for (let i = 0; i < 100; i++) await new Promise((resolve) => setImmediate(resolve));
  assert.equal(await left(), 84);
});
