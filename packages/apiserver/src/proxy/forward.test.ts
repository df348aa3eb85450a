import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { type TestContext, test } from "node:test";
import { deflateRawSync, gunzipSync, gzipSync, inflateRawSync } from "node:zlib";
import type { ApiRequest, ByteStreamResponse } from "@dray/client";
import { forward, type Location } from "./forward.ts";

const prefix = "/api/v1/namespaces/n/pods/p/proxy";

interface Backend {
  readonly asked: IncomingMessage[];
  readonly bodies: string[];
  readonly host: string;
  ask(request?: Partial<ApiRequest>, location?: Partial<Location>): Promise<ByteStreamResponse>;
}

async function backend(t: TestContext, answer: (response: ServerResponse) => void): Promise<Backend> {
  const asked: IncomingMessage[] = [];
  const bodies: string[] = [];
  const server = createServer(async (request, response) => {
    asked.push(request);
    bodies.push((await buffer(request)).toString());
    answer(response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const port = String((server.address() as AddressInfo).port);
  return {
    asked,
    bodies,
    host: `127.0.0.1:${port}`,
    async ask(request = {}, location = {}) {
      const response = await forward(
        { scheme: "", host: "127.0.0.1", port },
        {
          method: "GET",
          url: "/",
          headers: {},
          credential: { type: "none" },
          signal: new AbortController().signal,
          ...request,
        },
        { path: "/", query: "", prefix, ...location },
      );
      assert.ok(response.type === "bytes");
      return response;
    },
  };
}

const page = `<a href="/x">é</a>`;
const rewrittenPage = `<a href="${prefix}/x">é</a>`;

test("the request is passed on with its own Host, and X-Forwarded headers", async (t) => {
  const { asked, bodies, ask } = await backend(t, (response) => response.end());
  const headers = {
    host: "server:6443",
    authorization: "Bearer secret",
    "impersonate-user": "x",
    connection: "close, x-hop",
    "x-hop": "1",
    te: "trailers",
    "x-forwarded-for": "192.0.2.1",
    "x-kept": "é",
  };
  const body = Buffer.from("a body");
  const repeated = { "x-twice": ["1", "2"] };
  const request = { method: "POST", headers: { ...headers, "x-twice": "1" }, repeated, body };
  await ask({ ...request, remoteAddress: "192.0.2.2" }, { path: "/a é/%/", query: "?q=%2f&q" });
  const [first] = asked;
  assert.deepEqual([first!.method, first!.url, bodies[0]], ["POST", "/a%20%C3%A9/%25/?q=%2f&q", "a body"]);
  const { connection: _, ...received } = first!.headers;
  assert.deepEqual(received, {
    host: "server:6443",
    "x-forwarded-for": "192.0.2.1, 192.0.2.2",
    "x-forwarded-uri": `${prefix}/a%20%C3%A9/%25/`,
    "x-kept": Buffer.from("é").toString("latin1"),
    "x-twice": "1, 2",
    "content-length": "6",
  });
  for (const method of ["DELETE", "OPTIONS", "PATCH", "PUT", "HEAD"]) await ask({ method }, { path: "" });
  assert.deepEqual(
    asked.slice(1).map(({ method, url, headers }) => [method, url, headers["x-forwarded-uri"]]),
    ["DELETE", "OPTIONS", "PATCH", "PUT", "HEAD"].map((method) => [method, "/", `${prefix}/`]),
  );
});

test("headers of the response are passed on, except for hop-by-hop and CORS headers", async (t) => {
  const { ask } = await backend(t, (response) => {
    response.setHeader("Set-Cookie", ["a=1", "b=2"]);
    response.setHeader("Cache-Control", "max-age=5");
    response.setHeader("Access-Control-Allow-Origin", "*");
    response.setHeader("Content-Type", "text/plain");
    response.statusCode = 418;
    response.end(page);
  });
  const { status, headers, chunks } = await ask();
  const { date: _, ...rest } = headers;
  assert.deepEqual(
    [status, rest],
    [
      418,
      {
        "set-cookie": ["a=1", "b=2"],
        "cache-control": ["no-cache, private", "max-age=5"],
        "content-type": ["text/plain"],
        "content-length": [String(Buffer.byteLength(page))],
      },
    ],
  );
  assert.equal((await buffer(chunks)).toString(), page);
});

for (const [encoding, pack, unpack] of [
  ["", Buffer.from, Buffer.from],
  ["gzip", gzipSync, gunzipSync],
  ["deflate", deflateRawSync, inflateRawSync],
] as const) {
  test(`links of a page lead through the proxy (${encoding || "identity"})`, async (t) => {
    const { ask } = await backend(t, (response) => {
      response.setHeader("Content-Type", "text/html; charset=utf-8");
      if (encoding !== "") response.setHeader("Content-Encoding", encoding);
      response.end(pack(Buffer.from(page)));
    });
    const { headers, chunks } = await ask();
    assert.equal(headers["content-length"], undefined);
    assert.equal(unpack(await buffer(chunks)).toString(), rewrittenPage);
  });
}

test("a page in an unknown encoding is passed through", async (t) => {
  const { ask } = await backend(t, (response) => {
    response.setHeader("Content-Type", "text/html");
    response.setHeader("Content-Encoding", "br");
    response.end(page);
  });
  const { headers, chunks } = await ask();
  assert.deepEqual(headers["content-length"], [String(Buffer.byteLength(page))]);
  assert.equal((await buffer(chunks)).toString(), page);
});

test("a redirect is passed on, through the proxy if it leads to the same host", async (t) => {
  let location = "";
  const { ask, host } = await backend(t, (response) => {
    response.writeHead(302, { Location: location, "Content-Type": "text/html" }).end(page);
  });
  for (const [given, expected] of [
    ["/login?next=/", `${prefix}/login?next=/`],
    [`http://${host}/x`, `${prefix}/x`],
    ["https://elsewhere/x", "https://elsewhere/x"],
    ["x", "x"],
  ] as const) {
    location = given.replace("HOST", host);
    const { status, headers, chunks } = await ask();
    assert.deepEqual([status, headers["location"]], [302, [expected]]);
    assert.equal((await buffer(chunks)).toString(), page);
  }
});

test("an unreachable target is 503", async () => {
  const ask = (port: string): Promise<unknown> =>
    forward(
      { scheme: "http", host: "127.0.0.1", port },
      {
        method: "GET",
        url: "/",
        headers: {},
        credential: { type: "none" },
        signal: new AbortController().signal,
      },
      { path: "/", query: "", prefix },
    );
  const refused = (cause: string): object => ({
    status: { code: 503, message: `error trying to reach service: ${cause}` },
  });
  for (const [port, cause] of [
    ["1", "dial tcp 127.0.0.1:1: connect: connection refused"],
    ["dest1", "dial tcp: lookup tcp/dest1: unknown port"],
    ["70000", "dial tcp: address 70000: invalid port"],
  ] as const) {
    await assert.rejects(ask(port), ({ status }: { status: { code: number; message: string } }) => {
      assert.deepEqual({ status: { code: status.code, message: status.message } }, refused(cause));
      return true;
    });
  }
});

test("a kept-alive connection that was closed is opened again", async (t) => {
  const { ask, asked } = await backend(t, (response) => response.end("x"));
  await buffer((await ask()).chunks);
  asked[0]!.socket.destroy();
  await buffer((await ask()).chunks);
  assert.equal(asked.length, 2);
});
