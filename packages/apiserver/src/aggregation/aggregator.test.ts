import assert from "node:assert/strict";
import { duplexPair } from "node:stream";
import test from "node:test";
import type { ApiRequest } from "@dray/client";
import { eventually } from "@dray/testing/eventually";
import { adminToken } from "../testing/server.ts";
import { aggregated, apiService, type Reply, servicesPath, versionPath } from "./testing.ts";

const flunders = `${versionPath}/namespaces/default/flunders`;
const path = `${servicesPath}/${apiService.metadata.name}`;

const echo: Reply = ({ body, url }, response) => {
  response.setHeader("warning", ["299 - a", "299 - b"]);
  response.writeHead(201, { "content-type": "application/json" });
  response.end(JSON.stringify({ url, body }));
};

test("a request is passed on to the back end in the user's name", async (t) => {
  const { call, backEnd, condition } = await aggregated(t);
  backEnd.replies.set(flunders, echo);
  assert.deepEqual(await condition("Passed"), {
    ...(await condition("Passed")),
    status: "True",
    message: "all checks passed",
  });
  const made = await call("POST", `${flunders}?dryRun=All`, {
    user: "eve",
    groups: ["system:masters", "müller"],
    headers: {
      "x-remote-user": "forged",
      "x-remote-extra-forged": "1",
      authorization: `Bearer ${adminToken}`,
      "impersonate-uid": "u1",
      "impersonate-extra-example.com%2fscope": "all",
    },
    body: { kind: "Flunder" },
  });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  assert.deepEqual(made.body, { url: `${flunders}?dryRun=All`, body: '{"kind":"Flunder"}' });
  assert.deepEqual(made.headers["warning"], ["299 - a", "299 - b"]);
  const { headers, client } = backEnd.received.find(({ method }) => method === "POST")!;
  assert.equal(client, "front-proxy-client");
  assert.deepEqual(headers["x-remote-user"], ["eve"]);
  assert.deepEqual(headers["x-remote-uid"], ["u1"]);
  const groups = headers["x-remote-group"]!.map((each) => Buffer.from(each, "latin1").toString());
  assert.deepEqual(groups, ["system:masters", "müller", "system:authenticated"]);
  assert.deepEqual(headers["x-remote-extra-example.com%2fscope"], ["all"]);
  for (const name of ["authorization", "impersonate-user", "impersonate-uid", "x-remote-extra-forged"])
    assert.equal(headers[name], undefined, name);
});

test("an unauthorized request does not reach the back end", async (t) => {
  const { call, backEnd, condition } = await aggregated(t);
  await condition("Passed");
  const before = backEnd.received.length;
  const refused = await call("GET", flunders, { user: "eve" });
  assert.equal(refused.status, 403);
  assert.match(refused.body.message, /flunders.wardle.example.com is forbidden: User "eve" cannot list/);
  assert.ok(backEnd.received.slice(before).every(({ url }) => url !== flunders));
});

test("a watch streams, and ends at the back end when the client disconnects", async (t) => {
  const { server, backEnd, condition } = await aggregated(t);
  const ended = Promise.withResolvers<void>();
  backEnd.replies.set(flunders, (_, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.write('{"type":"ADDED","object":{"kind":"Flunder","metadata":{"name":"a"}}}\n');
    response.once("close", () => ended.resolve());
  });
  await condition("Passed");
  const gone = new AbortController();
  const watch: ApiRequest = {
    method: "GET",
    url: `${flunders}?watch=true`,
    headers: { accept: "application/json" },
    credential: { type: "bearer", token: adminToken },
    signal: gone.signal,
  };
  const answer = await server.handle(watch);
  assert.equal(answer.type, "bytes");
  if (answer.type !== "bytes") return;
  const chunks = answer.chunks[Symbol.asyncIterator]();
  const { value } = await chunks.next();
  assert.match(Buffer.from(value as Uint8Array).toString(), /"name":"a"/);
  gone.abort();
  await ended.promise;
});

test("an in-process component gets objects and events", async (t) => {
  const { server, backEnd, condition } = await aggregated(t);
  backEnd.replies.set(flunders, ({ url, body }, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    if (!url.includes("watch=true")) response.end(JSON.stringify({ kind: "FlunderList", items: [], body }));
    else response.write('{"type":"ADDED","object":{"kind":"Flunder","metadata":{"name":"a"}}}\n');
  });
  await condition("Passed");
  const transport = server.transport({ name: "gc", groups: ["system:masters"] });
  const headers = { accept: "application/json" };
  const { signal } = new AbortController();
  const body = { propagationPolicy: "Background" };
  const listed = await transport.request({ method: "DELETE", url: flunders, headers, body, signal });
  assert.equal(listed.type, "body");
  if (listed.type === "body")
    assert.deepEqual(listed.object, { kind: "FlunderList", items: [], body: JSON.stringify(body) });
  const watch = await transport.request({ method: "GET", url: `${flunders}?watch=true`, headers, signal });
  assert.equal(watch.type, "watch");
  if (watch.type !== "watch") return;
  for await (const { event } of watch.events) {
    assert.equal(event.object.metadata.name, "a");
    break;
  }
});

test("an upgraded connection is passed through, with the user's name", async (t) => {
  const { server, backEnd, condition } = await aggregated(t);
  let received: { readonly headers: Record<string, unknown> } | undefined;
  backEnd.onUpgrade = (request, socket) => {
    received = request as never;
    socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n");
    socket.on("data", (data: Buffer) => socket.write(data));
  };
  await condition("Passed");
  const answer = await server.handle({
    method: "POST",
    url: `${flunders}/a/shell`,
    headers: { connection: "Upgrade", upgrade: "echo", host: "h" },
    credential: { type: "bearer", token: adminToken },
    signal: new AbortController().signal,
  });
  assert.equal(answer.type, "upgrade");
  if (answer.type !== "upgrade") return;
  const [client, served] = duplexPair();
  answer.accept(served, Buffer.from("hello"));
  let text = "";
  client.on("data", (data: Buffer) => {
    text += data.toString();
  });
  await eventually("the echo", () => text.endsWith("hello"));
  assert.match(text, /^HTTP\/1\.1 101/);
  assert.deepEqual(received?.headers["x-remote-group"], ["system:masters", "system:authenticated"]);
  client.destroy();
});

test("an unreachable back end is unavailable, and recovers", async (t) => {
  const { call, backEnd, condition } = await aggregated(t);
  await condition("Passed");
  const { port } = backEnd;
  await backEnd.stop();
  const refused = await call("GET", flunders);
  assert.equal(refused.status, 503);
  assert.equal(
    refused.body,
    `error trying to reach service: dial tcp 127.0.0.1:${port}: connect: connection refused\n`,
  );
  // Any change of the Service triggers another check.
  const service = "/api/v1/namespaces/wardle/services/flunders";
  await call("PATCH", service, { body: { metadata: { labels: { changed: "1" } } } });
  const { status, message } = await condition("FailedDiscoveryCheck");
  assert.equal(status, "False");
  const url = `https://127.0.0.1:${port}${versionPath}`;
  assert.equal(
    message,
    `failing or missing response from ${url}: Get "${url}": dial tcp 127.0.0.1:${port}: connect: connection refused`,
  );
  const unavailable = await call("GET", flunders);
  assert.equal(unavailable.status, 503);
  assert.equal(unavailable.body, "service unavailable\n");
  await backEnd.start(port);
  await condition("Passed");
});

test("the condition reports what is wrong with the Service", async (t) => {
  const { call, condition } = await aggregated(t);
  await condition("Passed");
  const service = "/api/v1/namespaces/wardle/services/flunders";
  await call("PATCH", path, { body: { spec: { service: { port: 1 } } } });
  assert.equal(
    (await condition("ServicePortError")).message,
    'service/flunders in "wardle" is not listening on port 1',
  );
  await call("PATCH", path, { body: { spec: { service: { port: 7443 } } } });
  await condition("Passed");
  await call("PATCH", service, { body: { spec: { selector: { app: "other" } } } });
  assert.equal(
    (await condition("EndpointsNotFound")).message,
    'cannot find endpointslices for service/flunders in "wardle"',
  );
  await call("POST", "/apis/discovery.k8s.io/v1/namespaces/wardle/endpointslices", {
    body: {
      metadata: { name: "s", labels: { "kubernetes.io/service-name": "flunders" } },
      addressType: "IPv4",
      endpoints: [],
      ports: [{ name: "", port: 1 }],
    },
  });
  assert.equal(
    (await condition("MissingEndpoints")).message,
    'endpointslices for service/flunders in "wardle" have no addresses with port name ""',
  );
  await call("DELETE", service);
  assert.equal((await condition("ServiceNotFound")).message, 'service/flunders in "wardle" is not present');
});

test("a certificate of another authority is rejected, unless the APIService skips verification", async (t) => {
  const { call, condition } = await aggregated(t);
  await condition("Passed");
  await call("PATCH", path, { body: { spec: { caBundle: null } } });
  const { message } = await condition("FailedDiscoveryCheck");
  assert.match(message, /x509: certificate signed by unknown authority$/);
  await call("PATCH", path, { body: { spec: { insecureSkipTLSVerify: true } } });
  await condition("Passed");
});

test("an APIService supports the same writes as other kinds", async (t) => {
  const { call, condition } = await aggregated(t);
  await condition("Passed");
  const strategic = { "content-type": "application/strategic-merge-patch+json" };
  const labelled = await call("PATCH", path, {
    headers: strategic,
    body: { metadata: { labels: { "e2e-apiservice": "patched" } } },
  });
  assert.equal(labelled.status, 200, labelled.body.message);
  const read = (await call("GET", `${path}/status`)).body;
  const updated = { type: "StatusUpdated", status: "True", reason: "E2E", message: "Set from e2e test" };
  const put = await call("PUT", `${path}/status`, {
    body: {
      ...read,
      metadata: { ...read.metadata, labels: {} },
      spec: { ...read.spec, versionPriority: 1 },
      status: { conditions: [...read.status.conditions, updated] },
    },
  });
  assert.equal(put.status, 200, put.body.message);
  assert.deepEqual(put.body.metadata.labels, { "e2e-apiservice": "patched" });
  assert.equal(put.body.spec.versionPriority, 200);
  assert.equal(put.body.status.conditions.length, 2);
  const replaced = await call("PUT", path, {
    body: { ...put.body, metadata: { ...put.body.metadata, labels: { a: "updated" } }, status: {} },
  });
  assert.equal(replaced.status, 200, replaced.body.message);
  assert.equal(replaced.body.status.conditions.length, 2);
  const { resourceVersion: _, ...metadata } = replaced.body.metadata;
  const blind = await call("PUT", path, { body: { ...replaced.body, metadata } });
  assert.equal(blind.status, 422);
  const before = (await call("GET", servicesPath)).body.items.length;
  await call("DELETE", `${servicesPath}?labelSelector=a%3Dupdated`);
  assert.equal((await call("GET", servicesPath)).body.items.length, before - 1);
  assert.equal((await call("GET", path)).status, 404);
});

test("without its APIService a version is not served", async (t) => {
  const { call, backEnd, condition } = await aggregated(t);
  backEnd.replies.set(flunders, echo);
  await condition("Passed");
  assert.equal((await call("GET", flunders)).status, 201);
  await call("DELETE", servicesPath, { body: {} });
  assert.equal((await call("GET", flunders)).status, 404);
});
