import assert from "node:assert/strict";
import { once } from "node:events";
import { type ClientHttp2Session, connect } from "node:http2";
import { test } from "node:test";
import { connect as tlsConnect } from "node:tls";
import { gunzipSync } from "node:zlib";
import { eventually, realTime } from "@dray/testing/eventually";
import { httpsRequest } from "@dray/testing/http";
import { createAuthority, issueCertificate } from "../index.ts";
import { testServer } from "../testing/server.ts";

const now = Date.now();
const authority = await createAuthority("test-ca", now);
const serverPair = await issueCertificate(
  authority,
  { commonName: "kube-apiserver", ipAddresses: ["127.0.0.1", "::1"], usages: ["server"] },
  now,
);
const serving = { ...serverPair, clientAuthority: authority.certificate };

test("a client certificate authenticates its user over HTTP/1.1", async () => {
  const { server } = await testServer({ serving });
  const listener = await server.listen();
  const { certificate, key } = await issueCertificate(
    authority,
    { commonName: "ann", organizations: ["one", "two"], usages: ["client"] },
    now,
  );
  const { body } = await httpsRequest(
    `${listener.url}/apis/authentication.k8s.io/v1/selfsubjectreviews`,
    {
      method: "POST",
      ca: authority.certificate,
      cert: certificate,
      key,
      headers: { "content-type": "application/json" },
    },
    "{}",
  );
  const { userInfo } = JSON.parse(body.toString()).status;
  assert.equal(userInfo.username, "ann");
  assert.deepEqual(userInfo.groups, ["one", "two", "system:authenticated"]);
  assert.match(userInfo.extra["authentication.kubernetes.io/credential-id"][0], /^X509SHA256=[0-9a-f]{64}$/);
  await server.close();
});

test("an untrusted certificate is rejected, unless there is also a token", async () => {
  const { server } = await testServer({ serving });
  const listener = await server.listen();
  const stranger = await issueCertificate(
    await createAuthority("other-ca", now),
    { commonName: "ann", usages: ["client"] },
    now,
  );
  const expired = await issueCertificate(
    authority,
    { commonName: "ann", usages: ["client"], validity: 1 },
    now - 3 * 24 * 60 * 60 * 1000,
  );
  const status = async (pair: typeof stranger, headers: Record<string, string> = {}): Promise<number> => {
    const options = { ca: authority.certificate, cert: pair.certificate, key: pair.key, headers };
    return (await httpsRequest(`${listener.url}/version`, options)).status;
  };
  assert.equal(await status(stranger), 401);
  assert.equal(await status(expired), 401);
  assert.equal(await status(stranger, { authorization: "Bearer admin-token" }), 200);
  await server.close();
});

test("a disconnected watcher leaves nothing behind, and a body over the limit gets 413, over HTTP/2", async () => {
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
    /apiserver_longrunning_requests\{[^}]*resource="namespaces"[^}]*\} (\d+)/.exec(
      (await call("GET", "/metrics")).body,
    )?.[1];
  const before = Number(await watchers());
  stream.close();
  await eventually("the watcher is gone", async () => Number(await watchers()) === before - 1);
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

test("a client that sends an entire oversized body still gets its 413 over HTTP/1.1", async (t) => {
  const { server } = await testServer({ serving });
  t.after(() => server.close());
  const listener = await server.listen();
  const socket = tlsConnect({ port: listener.port, host: "127.0.0.1", ca: authority.certificate });
  const pieces = 160;
  const piece = Buffer.alloc(65_536, "x");
  const head = [
    "POST /api/v1/namespaces/default/configmaps HTTP/1.1",
    "Host: x",
    "Authorization: Bearer admin-token",
    "Content-Type: application/json",
    `Content-Length: ${pieces * piece.length}`,
  ];
  socket.write(`${head.join("\r\n")}\r\n\r\n`);
  // A client that is slow: the answer has long been given when it has come to the end.
  const answered = once(socket, "readable");
  for (let at = 0; at < pieces; at++) {
    await new Promise<void>((resolve, reject) =>
      socket.write(piece, (error) => (error ? reject(error) : resolve())),
    );
    if (at === pieces / 2) await answered;
  }
  const answer = (await socket.toArray()).join("");
  assert.match(answer, /^HTTP\/1\.1 413 /);
  assert.match(answer, /"reason":"RequestEntityTooLarge"/);
});

test("an unfinished body gets a response at once, and is disconnected later, over HTTP/1.1", async (t) => {
  const { server } = await testServer({ serving });
  t.after(() => server.close());
  const listener = await server.listen();
  const socket = tlsConnect({ port: listener.port, host: "127.0.0.1", ca: authority.certificate });
  const head = ["POST /api/v1/namespaces/default/configmaps HTTP/1.1", "Host: x", "Content-Length: 1000000"];
  socket.write(`${head.join("\r\n")}\r\n\r\nx`);
  const answered = once(socket, "data");
  const closed = once(socket, "close");
  assert.equal(await Promise.race([answered.then(() => "answer"), closed]), "answer");
  assert.match(String((await answered)[0]), /^HTTP\/1\.1 403 .*"reason":"Forbidden"/s);
  await closed;
});

test("an in-process object is handed over frozen, for the given user", async () => {
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

test("responses of more than 128 KiB are compressed for clients that accept gzip, and for no others", async () => {
  const { server, call } = await testServer({ serving });
  const listener = await server.listen();
  const url = "/api/v1/namespaces/default/configmaps";
  for (const [name, size] of [
    ["small", 100_000],
    ["large", 140_000],
  ] as const) {
    await call("POST", url, { body: { metadata: { name }, data: { k: "v".repeat(size) } } });
  }
  const get = async (
    path: string,
    encoding: string,
  ): Promise<readonly [encoding: unknown, vary: unknown, body: Buffer]> => {
    const options = {
      ca: authority.certificate,
      headers: { authorization: "Bearer admin-token", "accept-encoding": encoding },
    };
    const { headers, body } = await httpsRequest(`${listener.url}${path}`, options);
    return [headers["content-encoding"], headers["vary"], body];
  };
  const parts = async (path: string, encoding: string): Promise<readonly unknown[]> =>
    (await get(path, encoding)).slice(0, 2);
  const plain = await get(`${url}/large`, "identity");
  assert.deepEqual(plain.slice(0, 2), [undefined, undefined]);
  const packed = await get(`${url}/large`, "deflate, gzip");
  assert.deepEqual(packed.slice(0, 2), ["gzip", "Accept-Encoding"]);
  assert.ok(packed[2].length < 10_000);
  assert.deepEqual(gunzipSync(packed[2]), plain[2]);
  assert.equal((await get(`${url}/small`, "gzip"))[0], undefined);
  assert.equal((await get(`${url}/large`, "gzip;q=0"))[0], undefined);
  // Other Vary values are kept.
  assert.deepEqual(await parts("/openapi/v3/api/v1", "identity"), [undefined, "Accept"]);
  assert.deepEqual(await parts("/openapi/v3/api/v1", "gzip"), ["gzip", "Accept, Accept-Encoding"]);
  await server.close();
});

test("the first value of a repeated header counts, except for groups", async () => {
  const { server } = await testServer({ serving });
  const listener = await server.listen();
  const headers = [
    ...[
      "content-type",
      "application/json",
      "authorization",
      "Bearer admin-token",
      "authorization",
      "Bearer x",
    ],
    ...["impersonate-user", "\u00c3\u00a4nn", "impersonate-user", "bob"],
    ...["impersonate-group", "a,b", "impersonate-group", "c", "impersonate-extra-constructor", "k"],
  ];
  const { body } = await httpsRequest(
    `${listener.url}/apis/authentication.k8s.io/v1/selfsubjectreviews`,
    { method: "POST", ca: authority.certificate, headers: ["host", "localhost", ...headers] },
    "{}",
  );
  const text = body.toString();
  const { userInfo } = JSON.parse(text).status;
  assert.equal(userInfo.username, "änn");
  assert.deepEqual(userInfo.groups, ["a,b", "c", "system:authenticated"]);
  assert.deepEqual(userInfo.extra, { constructor: ["k"] });
  await server.close();
});

/** Sends a POST of a large body that never ends; returns the status, 0 if the stream is reset. */
function sendUnfinishedBody(session: ClientHttp2Session, headers: Record<string, string>): Promise<number> {
  return new Promise((resolve) => {
    const stream = session.request({
      ":method": "POST",
      ":path": "/api/v1/namespaces/default/configmaps",
      "content-type": "application/json",
      ...headers,
    });
    stream.on("error", () => {});
    stream.once("response", (answer) => resolve(Number(answer[":status"])));
    stream.once("close", () => resolve(0));
    stream.resume();
    stream.write(Buffer.alloc(100_000, "x"));
  });
}

test("an unauthorized body is not read, and other bodies have a time limit", async () => {
  const { server } = await testServer({ serving });
  const listener = await server.listen({ timeouts: { progress: 300 } });
  const session = connect(listener.url, { ca: authority.certificate });
  assert.equal(await sendUnfinishedBody(session, {}), 403);
  assert.equal(await sendUnfinishedBody(session, { authorization: "Bearer x" }), 401);
  assert.equal(await sendUnfinishedBody(session, { authorization: "Bearer admin-token" }), 0);
  session.destroy();
  await server.close();
});

test("many and long headers are read", async () => {
  const { server } = await testServer({ serving });
  const listener = await server.listen();
  const padding = Array.from({ length: 1500 }, (_, at) => [`x-${at}`, "y".repeat(100)]).flat();
  const headers = [
    "host",
    "localhost",
    "authorization",
    "Bearer admin-token",
    ...padding,
    "impersonate-user",
    "ann",
  ];
  const path = "/api/v1/namespaces/default/pods";
  const { body } = await httpsRequest(`${listener.url}${path}`, {
    ca: authority.certificate,
    headers,
    maxHeaderSize: 1 << 20,
  });
  const text = body.toString();
  assert.match(JSON.parse(text).message, /User "ann" cannot list/);
  const session = connect(listener.url, { ca: authority.certificate });
  const stream = session.request({
    ":path": path,
    authorization: "Bearer admin-token",
    ...Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`x-${at}`, "y"])),
    "impersonate-user": "ann",
  });
  const answer = (await stream.toArray()).join("");
  assert.match(JSON.parse(answer).message, /User "ann" cannot list/);
  session.destroy();
  await server.close();
});

test("the first value of a repeated header counts for unknown methods, too", async () => {
  const { server } = await testServer({ serving });
  const listener = await server.listen();
  const lines = [
    "FOO /api/v1/pods HTTP/1.1",
    "Host: x",
    "Authorization: Bearer x",
    "Authorization: Bearer admin-token",
  ];
  const socket = tlsConnect({ port: listener.port, host: "127.0.0.1", ca: authority.certificate });
  socket.write(`${lines.join("\r\n")}\r\n\r\n`);
  assert.match((await socket.toArray()).join(""), /^HTTP\/1.1 401 /);
  await server.close();
});

test("a trusted certificate that names no user is anonymous", async () => {
  const { server } = await testServer({ serving });
  const listener = await server.listen();
  const nameless = await issueCertificate(authority, { commonName: "", usages: ["client"] }, now);
  const { status } = await httpsRequest(`${listener.url}/api/v1/pods`, {
    ca: authority.certificate,
    cert: nameless.certificate,
    key: nameless.key,
  });
  assert.equal(status, 403);
  await server.close();
});

test("long lists in flight do not block other requests of the connection", async () => {
  const { server, call } = await testServer({ serving });
  const listener = await server.listen();
  const path = "/api/v1/namespaces/default/configmaps";
  for (const name of ["a", "b", "c"])
    await call("POST", path, { body: { metadata: { name }, data: { text: "x".repeat(900_000) } } });
  const session = connect(listener.url, { ca: authority.certificate, maxSessionMemory: 100 });
  const list = async (): Promise<number> => {
    const stream = session.request({ ":path": path, authorization: "Bearer admin-token" });
    const [headers] = await once(stream, "response");
    await realTime(100, "nothing says that all of them wait to be read");
    stream.resume();
    await once(stream, "close");
    return Number(headers[":status"]);
  };
  const answers = await Promise.all(Array.from({ length: 8 }, list));
  assert.deepEqual(answers, Array(8).fill(200));
  session.destroy();
  await server.close();
});

test("over HTTP/2 a HEAD has no body, Expect gets 100 Continue, and CONNECT is rejected", async () => {
  const { server } = await testServer({ serving });
  const listener = await server.listen();
  const session = connect(listener.url, { ca: authority.certificate });
  const authorization = "Bearer admin-token";
  const path = "/api/v1/namespaces/default";

  const head = session.request({ ":method": "HEAD", ":path": path, authorization }, { endStream: true });
  const [headers] = await once(head, "response");
  assert.equal(headers[":status"], 405);
  assert.equal((await head.toArray()).length, 0);

  const post = session.request({
    ":method": "POST",
    ":path": `${path}/configmaps`,
    authorization,
    "content-type": "application/json",
    expect: "100-continue",
  });
  await once(post, "continue");
  post.end('{"metadata":{"name":"a"}}');
  const [created] = await once(post, "response");
  assert.equal(created[":status"], 201);
  post.resume();

  const tunnel = session.request({ ":method": "CONNECT", ":authority": "127.0.0.1:80" });
  const [refused] = await once(tunnel, "response");
  assert.equal(refused[":status"], 405);
  session.destroy();
  await server.close();
});
