import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "@dray/client";
import { etcdStore, memoryStore, type Operation, type Store, StoreTimeoutError } from "@dray/store";
import { TestEtcd, withoutEtcd } from "../../../store/src/testing/etcd.ts";
import { testServer } from "../testing/server.ts";

const collection = "/api/v1/namespaces/default/configmaps";
const put = (name: string): Operation => ({
  type: "put",
  key: `/registry/configmaps/default/${name}`,
  value: JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace: "default" } }),
});

/** Returns a store with some methods replaced. */
function altered(inner: Store, methods: Partial<Store>): Store {
  return {
    name: inner.name,
    revision: () => inner.revision(),
    get: (key) => inner.get(key),
    list: (prefix, options) => inner.list(prefix, options),
    count: (prefix) => inner.count(prefix),
    txn: (compare, operations) => inner.txn(compare, operations),
    watch: (prefix, from, signal) => inner.watch(prefix, from, signal),
    compact: (revision) => inner.compact(revision),
    close: () => inner.close(),
    ...methods,
  };
}

test("a read without a resourceVersion returns earlier writes of another server", async () => {
  const inner = memoryStore(systemClock);
  let gate = Promise.resolve();
  const store = altered(inner, {
    async *watch(prefix, from, signal) {
      for await (const batch of inner.watch(prefix, from, signal)) {
        await gate;
        yield batch;
      }
    },
  });
  const { call, server } = await testServer({ store });
  const late = Promise.withResolvers<void>();
  gate = late.promise;
  await inner.txn([], [put("a")]);
  const token = Buffer.from('{"v":"meta.k8s.io/v1","rv":-1,"start":"a"}').toString("base64url");
  const reads = [
    call("GET", `${collection}/a`),
    call("GET", `${collection}?fieldSelector=metadata.name=a`),
    call("GET", `${collection}?limit=500&fieldSelector=metadata.name=a`),
    call("GET", `${collection}?continue=${token}&fieldSelector=metadata.name=a`),
  ];
  // resourceVersion=0 returns the cached state.
  assert.equal((await call("GET", `${collection}/a?resourceVersion=0`)).status, 404);
  assert.equal((await call("GET", `${collection}?resourceVersion=0`)).status, 200);
  late.resolve();
  const [one, ...lists] = await Promise.all(reads);
  assert.equal(one?.status, 200);
  for (const { status, body } of lists) {
    assert.equal(status, 200);
    assert.equal(body.items.length, 1);
    assert.ok(Number(body.metadata.resourceVersion) >= Number(one?.body.metadata.resourceVersion));
  }
  await server.close();
});

test("while the store is unavailable, reads without a resourceVersion fail, those with 0 do not", async () => {
  let failure: Error | undefined;
  const inner = memoryStore(systemClock);
  const store = altered(inner, {
    revision: () => (failure === undefined ? inner.revision() : Promise.reject(failure)),
  });
  const { call, server } = await testServer({ store });
  for (const [error, status, reason, message] of [
    [
      new StoreTimeoutError("late"),
      504,
      "Timeout",
      "Timeout: request did not complete within the allotted timeout",
    ],
    [new Error("etcdserver: no leader"), 500, undefined, "etcdserver: no leader"],
  ] as const) {
    failure = error;
    for (const path of [collection, "/api/v1/namespaces/default"]) {
      const answer = await call("GET", path);
      assert.deepEqual([answer.status, answer.body.reason, answer.body.message], [status, reason, message]);
      assert.equal((await call("GET", `${path}?resourceVersion=0`)).status, 200);
    }
  }
  failure = undefined;
  assert.equal((await call("GET", collection)).status, 200);
  await server.close();
});

test("writes of others in the same store do not delay reads", async () => {
  const { call, store, server } = await testServer();
  const foreign = { type: "put", key: "/elsewhere/a", value: "1" } as const;
  const first = await store.txn([], [foreign]);
  const list = await call("GET", collection);
  assert.equal(list.status, 200);
  assert.ok(Number(list.body.metadata.resourceVersion) >= first.revision);
  const { revision } = await store.txn([], [foreign]);
  const answer = await call("GET", `/api/v1/namespaces/default?resourceVersion=${revision}`);
  assert.equal(answer.status, 200);
  await server.close();
});

test("two servers on one etcd: a write that one has acknowledged is visible on the other", {
  skip: withoutEtcd,
}, async () => {
  const etcd = new TestEtcd();
  try {
    await etcd.start();
    const open = () => etcdStore({ endpoints: [etcd.url] }, systemClock);
    const stores = [open(), open()] as const;
    const one = await testServer({ store: stores[0] });
    const two = await testServer({ store: stores[1] });
    const other = etcdStore({ endpoints: [etcd.url], prefix: "/other" }, systemClock);
    for (let round = 0; round < 30; round++) {
      const [writer, reader] = round % 2 === 0 ? [one, two] : [two, one];
      const name = `c${round}`;
      const created = await writer.call("POST", collection, { body: { metadata: { name } } });
      assert.equal(created.status, 201);
      const [read, list] = await Promise.all([
        reader.call("GET", `${collection}/${name}`),
        reader.call("GET", `${collection}?fieldSelector=metadata.name=${name}`),
      ]);
      assert.equal(read.status, 200, `round ${round}`);
      assert.equal(list.body.items.length, 1, `round ${round}`);
      if (round % 10 === 0) await other.txn([], [{ type: "put", key: "/elsewhere", value: "1" }]);
    }
    await Promise.all([one.server.close(), two.server.close()]);
    await Promise.all([...stores, other].map((store) => store.close()));
  } finally {
    await etcd.remove();
  }
});
