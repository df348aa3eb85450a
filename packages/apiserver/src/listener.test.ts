import assert from "node:assert/strict";
import { connect } from "node:http2";
import { request } from "node:https";
import { test } from "node:test";
import { sleep, systemClock } from "@dray/client";
import { createAuthority, issueCertificate } from "./index.ts";
import { testServer } from "./test-server.ts";

const now = Date.now();
const authority = await createAuthority("test-ca", now);
const serverPair = await issueCertificate(
  authority,
  { commonName: "kube-apiserver", ipAddresses: ["127.0.0.1", "::1"], usages: ["server"] },
  now,
);
const serving = { ...serverPair, clientAuthority: authority.certificate };

test("a client certificate says who its owner is, by HTTP/1.1", async () => {
  const { server } = await testServer({ serving });
  const listener = await server.listen();
  const { certificate, key } = await issueCertificate(
    authority,
    { commonName: "ann", organizations: ["one", "two"], usages: ["client"] },
    now,
  );
  const text = await new Promise<string>((resolve, reject) => {
    const call = request(
      `${listener.url}/apis/authentication.k8s.io/v1/selfsubjectreviews`,
      {
        method: "POST",
        ca: authority.certificate,
        cert: certificate,
        key,
        headers: { "content-type": "application/json" },
      },
      async (response) => resolve((await response.toArray()).join("")),
    );
    call.once("error", reject);
    call.end("{}");
  });
  const { userInfo } = JSON.parse(text).status;
  assert.equal(userInfo.username, "ann");
  assert.deepEqual(userInfo.groups, ["one", "two", "system:authenticated"]);
  await server.close();
});

test("a watcher that goes away leaves nothing behind, and a body over the limit gets 413, by HTTP/2", async () => {
  const { server, call } = await testServer({ serving });
  const listener = await server.listen();
  const session = connect(listener.url, { ca: authority.certificate });
  const authorization = "Bearer admin-token";
  const stream = session.request({ ":path": "/api/v1/namespaces?watch=true", authorization });
  const first = new Promise<string>((resolve) =>
    stream.once("data", (data: Buffer) => resolve(String(data))),
  );
  assert.match(await first, /"type":"ADDED"/);
  const watchers = async () =>
    /apiserver_longrunning_requests\{resource="namespaces"\} (\d+)/.exec(
      (await call("GET", "/metrics")).body,
    )?.[1];
  const before = Number(await watchers());
  stream.close();
  for (let turn = 0; turn < 100 && Number(await watchers()) === before; turn++) await sleep(systemClock, 10);
  assert.equal(Number(await watchers()), before - 1);
  const large = session.request({
    ":method": "POST",
    ":path": "/api/v1/namespaces/default/configmaps",
    "content-type": "application/json",
    authorization,
  });
  const status = new Promise<number>((resolve) =>
    large.once("response", (headers) => resolve(headers[":status"]!)),
  );
  large.on("error", () => {});
  large.write(Buffer.alloc(4_000_000, "x"));
  assert.equal(await status, 413);
  large.close();
  session.close();
  await server.close();
});

test("in process an object crosses as it is, frozen, for the user that was named", async () => {
  const { server, call } = await testServer();
  await call("POST", "/api/v1/namespaces/default/configmaps", { body: { metadata: { name: "a" } } });
  const { signal } = new AbortController();
  const transport = server.transport({ name: "admin", groups: ["system:masters"] });
  const url = "/api/v1/namespaces/default/configmaps/a";
  const first = await transport.request({ method: "GET", url, headers: {}, signal });
  const second = await transport.request({ method: "GET", url, headers: {}, signal });
  assert.ok(first.type === "body" && second.type === "body");
  assert.ok(Object.isFrozen(first.object));
  assert.equal(first.object, second.object, "the cache itself is shared");
  const other = server.transport({ name: "nobody", groups: [] });
  assert.equal((await other.request({ method: "GET", url, headers: {}, signal })).status, 403);
  await server.close();
  await assert.rejects(transport.request({ method: "GET", url, headers: {}, signal }), /closed/);
});
