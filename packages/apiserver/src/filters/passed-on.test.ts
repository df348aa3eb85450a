import assert from "node:assert/strict";
import { once } from "node:events";
import { request } from "node:https";
import { test } from "node:test";
import { adminToken } from "../testing/server.ts";
import { kubeletClient, pod, spdy, streams } from "../upgrade/testing.ts";

test("logs and commands over the limit are rejected, and accepted when others have ended", async (t) => {
  const tested = await streams(t, { command: () => new Promise(() => {}) }, kubeletClient, {
    maxPassedOnRequests: 2,
  });
  const get = async (path: string) => {
    const call = request(`${tested.url}${path}`, {
      rejectUnauthorized: false,
      headers: { authorization: `Bearer ${adminToken}` },
      agent: false,
    }).end();
    const [response] = await once(call, "response");
    const { statusCode, headers } = response;
    let text = "";
    for await (const chunk of response) text += chunk;
    return { status: statusCode, retryAfter: headers["retry-after"], text };
  };
  // Each gives its unit back when it has ended.
  for (let round = 0; round < 5; round++) assert.equal((await get(`${pod}/log`)).status, 200);
  const open = await Promise.all([1, 2].map(() => tested.upgrade(`${pod}/exec?command=x&stdout=1`, spdy)));
  assert.deepEqual(
    open.map(({ status }) => status),
    [101, 101],
  );
  const rejected = await get(`${pod}/log`);
  assert.deepEqual([rejected.status, rejected.retryAfter], [429, "1"]);
  assert.match(JSON.parse(rejected.text).message, /^2 logs, commands, .* \(`ulimit -n`\): try again later$/);
  assert.equal((await tested.upgrade(`${pod}/exec?command=x&stdout=1`, spdy)).status, 429);
  // Watches and other requests open nothing.
  assert.equal((await get("/api/v1/namespaces")).status, 200);
  const [first] = open;
  assert.ok(first !== undefined && "socket" in first);
  first.socket.destroy();
  // The server notices the end of the connection after its client.
  let status = 0;
  while (status !== 200) ({ status } = await get(`${pod}/log`));
});
