import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:http2";
import { request } from "node:https";
import { test } from "node:test";
import { type Log, silentLog } from "@dray/client";
import { eventually } from "@dray/testing/eventually";
import { testServer } from "../testing/server.ts";
import { testServing } from "../testing/serving.ts";

const serving = await testServing();
const maps = "/api/v1/namespaces/default/configmaps";
const authorization = "Bearer admin-token";

test("a hundred watchers that never read cost bounded memory, are disconnected, and delay no others", {
  timeout: 120_000,
}, async () => {
  let cut = 0;
  const log: Log = { ...silentLog, warn: (_, message) => void (/cut off/.test(message) && cut++) };
  const { server, call } = await testServer({ serving, log });
  const listener = await server.listen({ timeouts: { progress: 5_000 } });
  const url = `${listener.url}${maps}?watch=true`;
  const before = process.memoryUsage.rss();

  const dead = Array.from({ length: 100 }, () => {
    const watch = request(url, { ca: serving.clientAuthority, headers: { authorization } }, (response) =>
      response.pause(),
    );
    watch.on("error", () => {});
    watch.end();
    return watch;
  });
  const session = connect(listener.url, { ca: serving.clientAuthority });
  const alive = session.request({ ":path": `${maps}?watch=true`, authorization });
  let seen = 0;
  alive.setEncoding("utf8").on("data", (text: string) => {
    seen += text.split('"type":"MODIFIED"').length - 1;
  });
  try {
    await Promise.all([alive, ...dead].map((watch) => once(watch, "response")));

    const value = "x".repeat(200_000);
    assert.equal((await call("POST", maps, { body: { metadata: { name: "a" } } })).status, 201);
    const writes = 300;
    let most = 0;
    for (let i = 0; i < writes; i++) {
      const answer = await call("PUT", `${maps}/a`, {
        body: { metadata: { name: "a" }, data: { i: `${i}`, value } },
      });
      assert.equal(answer.status, 200);
      most = Math.max(most, process.memoryUsage.rss());
      await new Promise(setImmediate);
    }
    await eventually(
      () => `a watcher that reads gets everything, the others are cut off; now ${seen} and ${cut}`,
      () => seen >= writes && cut >= dead.length,
    );
    assert.deepEqual([seen, cut], [writes, dead.length]);
    // 300 writes of 200 kB for 100 watchers are 6 GB.
    assert.ok(most - before < 1e9, `memory grew by ${Math.round((most - before) / 1e6)} MB`);
  } finally {
    session.destroy();
    for (const watch of dead) watch.destroy();
    await server.close();
  }
});
