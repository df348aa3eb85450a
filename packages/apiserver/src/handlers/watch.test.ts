import assert from "node:assert/strict";
import { test } from "node:test";
import { fakeClock } from "@dray/testing/clock";
import { testServer } from "../testing/server.ts";

const maps = "/api/v1/namespaces/default/configmaps";

test("bookmarks come every minute and two seconds before the end, with the revision of the watch", async () => {
  const clock = fakeClock();
  const { server, call, watch } = await testServer({ clock });
  const { metadata } = (await call("GET", maps)).body;
  const query = `watch=true&allowWatchBookmarks=true&timeoutSeconds=90&resourceVersion=${metadata.resourceVersion}`;
  const watching = watch(`${maps}?${query}`, 100);
  const without = watch(
    `${maps}?watch=true&timeoutSeconds=90&resourceVersion=${metadata.resourceVersion}`,
    100,
  );
  // Both watches have begun before the clock moves.
  for (let turns = 0; turns < 10; turns++) await new Promise(setImmediate);
  await clock.advanceInSteps(59_000, 1_000);
  const created = await call("POST", maps, { body: { metadata: { name: "a" } } });
  await clock.advanceInSteps(1_000, 1_000);
  const later = await call("POST", "/api/v1/namespaces", { body: { metadata: { name: "b" } } });
  await clock.advanceInSteps(28_000, 1_000);
  await clock.advanceInSteps(2_000, 1_000);
  const received = (await watching).map(({ type, object }) => [type, object.metadata.resourceVersion]);
  assert.deepEqual(received, [
    ["ADDED", created.body.metadata.resourceVersion],
    ["BOOKMARK", created.body.metadata.resourceVersion],
    ["BOOKMARK", later.body.metadata.resourceVersion],
  ]);
  assert.deepEqual(
    (await without).map(({ type }) => type),
    ["ADDED"],
  );
  await server.close();
});

test("a watch encodes many initial events as the client takes them", async () => {
  const { server, call } = await testServer();
  for (let i = 0; i < 50; i++) {
    await call("POST", maps, { body: { metadata: { name: `a-${i}` }, data: { i: "old" } } });
  }
  const response = await server.handle({
    method: "GET",
    url: `${maps}?watch=true`,
    headers: { accept: "application/json" },
    credential: { type: "bearer", token: "admin-token" },
    signal: new AbortController().signal,
  });
  assert.ok(response.type === "watch");
  const names: string[] = [];
  for await (const { event } of response.events) {
    const object = event.object as { metadata: { name: string }; data?: { i: string } };
    names.push(`${event.type} ${object.metadata.name} ${object.data?.i}`);
    // Changes during the initial events follow them, and do not replace them.
    if (names.length === 1) {
      await call("PUT", `${maps}/a-9`, { body: { metadata: { name: "a-9" }, data: { i: "new" } } });
      await call("DELETE", `${maps}/a-8`);
    }
    if (names.length === 52) break;
  }
  assert.equal(new Set(names).size, 52);
  assert.ok(names.slice(0, 50).every((name) => name.startsWith("ADDED")));
  assert.ok(names.includes("ADDED a-9 old"));
  assert.deepEqual(names.slice(50), ["MODIFIED a-9 new", "DELETED a-8 old"]);
  await server.close();
});

test("watches that begin with a large object share its bytes, in each encoding", async () => {
  const { server, call } = await testServer();
  await call("POST", maps, { body: { metadata: { name: "large" }, data: { text: "x".repeat(50_000) } } });
  const first = async (accept: string): Promise<Uint8Array> => {
    const response = await server.handle({
      method: "GET",
      url: `${maps}?watch=true&fieldSelector=metadata.name%3Dlarge`,
      headers: { accept },
      credential: { type: "bearer", token: "admin-token" },
      signal: new AbortController().signal,
    });
    assert.ok(response.type === "watch");
    for await (const frame of response.events) return frame.bytes();
    throw new Error("no event");
  };
  const json = await first("application/json");
  assert.equal(await first("application/json"), json);
  const metadata = await first("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1");
  assert.ok(metadata.length < 1000);
  assert.notEqual(await first("application/vnd.kubernetes.protobuf"), json);
  await call("PATCH", `${maps}/large`, { body: { data: { more: "y" } } });
  assert.match(String(await first("application/json")), /"more":"y"/);
  await server.close();
});
