import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "@dray/client";
import { memoryStore, type Operation } from "@dray/store";
import { type Answer, type TestServer, testServer } from "../testing/server.ts";

const collection = "/api/v1/namespaces/default/configmaps";
const key = (name: string): string => `/registry/configmaps/default/${name}`;
const put = (name: string, value = ""): Operation => ({
  type: "put",
  key: key(name),
  value: JSON.stringify({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name, namespace: "default", uid: name, labels: { odd: String(Number(name.at(-1)) % 2) } },
    data: { value },
  }),
});

/** Starts a server with six objects. */
async function setup(): Promise<TestServer> {
  const server = await testServer();
  for (let index = 0; index < 6; index++) await server.store.txn([], [put(`o${index}`, "before")]);
  return server;
}

/** Changes the objects, and then so many others that no history contains the old ones. */
async function change({ store, call }: TestServer): Promise<void> {
  await store.txn([], [{ type: "delete", key: key("o3") }]);
  await store.txn([], [put("o4", "after")]);
  await store.txn([], [put("o9")]);
  for (let count = 0; count < 4000; count++) await store.txn([], [put("churn", String(count))]);
  await call("GET", collection);
}

const names = ({ body }: Answer): string[] =>
  body.items.map((item: { metadata: { name: string } }) => item.metadata.name);

test("the pages of a list have one revision, however slow the client, until the store compacts it", async () => {
  const tested = await setup();
  const { call, store, server } = tested;
  const first = await call("GET", `${collection}?limit=2`);
  const { resourceVersion } = first.body.metadata;
  assert.deepEqual(names(first), ["o0", "o1"]);
  const odd = await call("GET", `${collection}?limit=1&labelSelector=odd=1`);
  await change(tested);

  const next = `${collection}?limit=2&continue=${first.body.metadata.continue}`;
  const second = await call("GET", next);
  assert.deepEqual(names(second), ["o2", "o3"]);
  assert.equal(second.body.metadata.resourceVersion, resourceVersion);
  assert.equal(second.body.metadata.remainingItemCount, 2);
  const third = await call("GET", `${collection}?limit=2&continue=${second.body.metadata.continue}`);
  assert.deepEqual(names(third), ["o4", "o5"]);
  assert.equal(third.body.items[0].data.value, "before");
  assert.equal(third.body.metadata.continue, undefined);
  assert.equal(third.body.metadata.remainingItemCount, undefined);

  // A page is filled with selected objects, without a number of remaining ones.
  const page = await call(
    "GET",
    `${collection}?limit=1&labelSelector=odd=1&continue=${odd.body.metadata.continue}`,
  );
  assert.deepEqual(names(page), ["o3"]);
  assert.equal(page.body.metadata.remainingItemCount, undefined);
  assert.ok(page.body.metadata.continue);

  // A server that was started later has no counts.
  const another = await testServer({ store });
  const again = await another.call("GET", next);
  assert.deepEqual(names(again), ["o2", "o3"]);
  assert.equal(again.body.metadata.remainingItemCount, 2);
  await another.server.close();

  await store.compact(Number(resourceVersion) + 1);
  const expired = await call("GET", next);
  assert.equal(expired.status, 410);
  assert.equal(expired.body.reason, "Expired");
  assert.match(expired.body.message, /^The provided continue parameter is too old to display a consistent/);
  // The list may be continued at the newest revision.
  const rest = await call("GET", `${collection}?limit=2&continue=${expired.body.metadata.continue}`);
  assert.deepEqual(names(rest), ["o2", "o4"]);
  assert.equal(rest.body.items[1].data.value, "after");
  assert.equal(rest.body.metadata.remainingItemCount, 2);
  await server.close();
});

test("an exact revision is served until the store compacts it, also with limits and selectors", async () => {
  const tested = await setup();
  const { call, store, server } = tested;
  const newest = (await call("GET", collection)).body.metadata.resourceVersion;
  await change(tested);
  const at = `resourceVersion=${newest}`;
  const all = await call("GET", `${collection}?${at}&resourceVersionMatch=Exact`);
  assert.deepEqual(names(all), ["o0", "o1", "o2", "o3", "o4", "o5"]);
  assert.equal(all.body.metadata.resourceVersion, newest);
  assert.equal(all.body.items[3].metadata.resourceVersion, String(Number(newest) - 2));
  const limited = await call("GET", `${collection}?${at}&limit=2`);
  assert.deepEqual(names(limited), ["o0", "o1"]);
  assert.equal(limited.body.metadata.remainingItemCount, 4);
  const named = `${collection}?${at}&limit=1&fieldSelector=metadata.name=o3`;
  const one = await call("GET", `${named}&resourceVersionMatch=Exact`);
  assert.deepEqual(names(one), ["o3"]);
  assert.equal(one.body.metadata.continue, undefined);
  // A limit means an exact revision only for lists with pages.
  assert.deepEqual(names(await call("GET", named)), []);
  // Tokens of other servers name the first key of a page, which need not exist.
  const start = { v: "meta.k8s.io/v1", rv: Number(newest), start: "o4" };
  const token = Buffer.from(JSON.stringify(start)).toString("base64url");
  assert.deepEqual(names(await call("GET", `${collection}?continue=${token}`)), ["o4", "o5"]);
  await store.compact(Number(newest) + 1);
  const expired = await call("GET", `${collection}?${at}&resourceVersionMatch=Exact`);
  assert.equal(expired.status, 410);
  assert.equal(expired.body.message, "The resourceVersion for the provided list is too old.");
  assert.equal(expired.body.metadata.continue, undefined);
  await server.close();
});

test("a token with a future revision waits, like a future revision", async () => {
  const { call, server } = await setup();
  const start = { v: "meta.k8s.io/v1", rv: 99999999, start: "o4" };
  const token = Buffer.from(JSON.stringify(start)).toString("base64url");
  const { status, body } = await call("GET", `${collection}?continue=${token}`);
  assert.equal(status, 504);
  assert.match(body.message, /^Timeout: Too large resource version: 99999999, current: \d+$/);
  await server.close();
});

test("a compacted revision is not served from the cache either", async () => {
  const intervals: (() => void)[] = [];
  const clock = {
    now: () => systemClock.now(),
    after(milliseconds: number, run: () => void) {
      if (milliseconds !== 5 * 60_000) return systemClock.after(milliseconds, run);
      intervals.push(run);
      return () => {};
    },
  };
  const { call, store, server } = await testServer({ clock, store: memoryStore(systemClock) });
  await store.txn([], [put("o0")]);
  const { resourceVersion } = (await call("GET", collection)).body.metadata;
  const exact = `${collection}?resourceVersion=${resourceVersion}&resourceVersionMatch=Exact`;
  for (const status of [200, 200, 410]) {
    await store.txn([], [put("o1", String(status))]);
    assert.equal((await call("GET", exact)).status, status);
    intervals.shift()?.();
    await new Promise(setImmediate);
  }
  await server.close();
});
