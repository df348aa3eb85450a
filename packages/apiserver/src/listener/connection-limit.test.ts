import assert from "node:assert/strict";
import { once } from "node:events";
import { type ClientHttp2Session, connect } from "node:http2";
import { type Socket, connect as tcpConnect } from "node:net";
import { type TestContext, test } from "node:test";
import { type TLSSocket, connect as tlsConnect } from "node:tls";
import { problemLog } from "@dray/testing/log";
import { adminToken, testServer } from "../testing/server.ts";
import { testServing } from "../testing/serving.ts";

const serving = await testServing();
const authorization = `Bearer ${adminToken}`;
const watch = "/api/v1/namespaces?watch=true";

interface Limited {
  readonly problems: readonly string[];
  /** A TCP connection that sends nothing. */
  silent(): Promise<Socket>;
  /** Sends a request over HTTP/1.1; resolves to the first bytes of its response, or "" at its end. */
  get(path: string): Promise<{ readonly socket: TLSSocket; readonly response: string }>;
  /** The same over HTTP/2. */
  stream(path: string): Promise<{ readonly session: ClientHttp2Session; readonly status: number }>;
}

async function limitedServer(t: TestContext, maxConnections: number): Promise<Limited> {
  const { log, problems } = problemLog();
  const { server } = await testServer({ serving, log });
  const { url, port } = await server.listen({ maxConnections });
  const at = { port, host: "127.0.0.1" };
  const opened: { destroy(): unknown }[] = [];
  t.after(async () => {
    for (const one of opened) one.destroy();
    await server.close();
  });
  return {
    problems,
    async silent() {
      const socket = tcpConnect(at);
      opened.push(socket);
      socket.on("error", () => {});
      await once(socket, "connect");
      return socket;
    },
    async get(path) {
      const socket = tlsConnect({ ...at, ca: serving.clientAuthority });
      opened.push(socket);
      socket.on("error", () => {});
      socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\n\r\n`);
      const { promise, resolve } = Promise.withResolvers<string>();
      socket.once("data", (bytes) => resolve(String(bytes)));
      socket.once("close", () => resolve(""));
      return { socket, response: await promise };
    },
    async stream(path) {
      const session = connect(url, { ca: serving.clientAuthority });
      opened.push(session);
      session.on("error", () => {});
      const stream = session.request({ ":path": path, authorization });
      stream.on("error", () => {});
      stream.resume();
      const [headers] = await once(stream, "response");
      return { session, status: headers[":status"] };
    },
  };
}

test("a new connection replaces the one that has been idle for the longest time", async (t) => {
  const { silent, get, stream, problems } = await limitedServer(t, 4);
  const watching = await get(watch);
  assert.match(watching.response, /^HTTP\/1\.1 200 /);
  const unshaken = await silent();
  const kept = await get("/livez");
  const { session } = await stream("/livez");
  assert.deepEqual(problems, []);
  const closed = [once(unshaken, "close"), once(kept.socket, "close"), once(session, "close")];
  for (const victim of closed) {
    assert.match((await get("/livez")).response, /^HTTP\/1\.1 200 /);
    await victim;
  }
  assert.equal(watching.socket.destroyed, false);
  assert.equal(problems.length, 1);
  assert.match(problems[0]!, /^too many connections: .* \(`ulimit -n`\) .*\{"connections":4\}/);
});

test("a new connection is closed while all others are in use, and accepted afterwards", async (t) => {
  const { get, stream } = await limitedServer(t, 2);
  const watching = await get(watch);
  const busy = await stream(watch);
  assert.equal((await get("/livez")).response, "");
  busy.session.destroy();
  await once(busy.session, "close");
  // The server notices the end of the connection after its client.
  let response = "";
  while (response === "") response = (await get("/livez")).response;
  assert.match(response, /^HTTP\/1\.1 200 /);
  assert.equal(watching.socket.destroyed, false);
});
