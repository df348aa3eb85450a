import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { test } from "node:test";
import { StatusError } from "@dray/api";
import { ConfigMap, Pod } from "@dray/api/core/v1";
import { type Clock, ConnectionError, createClient, httpsTransport, systemClock } from "@dray/client";
import { eventLoopTurns, fakeClock } from "@dray/testing/clock";
import { eventually } from "@dray/testing/eventually";
import { type Responder, sendJSON, type TestServer, testServer } from "./testing.ts";

const configMap = (name: string, more = {}): object => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace: "default", uid: "u", resourceVersion: "7" },
  ...more,
});

async function withServer(
  answer: Responder,
  run: (server: TestServer, client: ReturnType<typeof createClient>) => Promise<void>,
  options: { http1?: boolean; clock?: Clock; tokenFile?: string } = {},
): Promise<void> {
  const server = await testServer(answer, options);
  const transport = httpsTransport({ server: server.url, ca: server.ca, ...options });
  const client = createClient({
    transport,
    userAgent: "test/1",
    ...(options.clock ? { clock: options.clock } : {}),
  });
  try {
    await run(server, client);
  } finally {
    client.close();
    await server.close();
  }
}

for (const http1 of [false, true]) {
  const protocol = http1 ? "HTTP/1.1" : "HTTP/2";

  test(`${protocol}: a response is a frozen object that keeps the digits of integers`, () =>
    withServer(
      (_request, response) =>
        sendJSON(response, 200, '{"kind":"ConfigMap","metadata":{"generation":9007199254740993}}'),
      async (server, client) => {
        const got = await client.resource(ConfigMap).get({ namespace: "a b", name: "n" });
        assert.deepEqual(server.requests, ["GET /api/v1/namespaces/a%20b/configmaps/n"]);
        assert.equal(got.metadata.generation, 9007199254740993n);
        assert.ok(Object.isFrozen(got.metadata));
      },
      { http1 },
    ));

  test(`${protocol}: a body is sent with its bigints, its type and the user agent`, () =>
    withServer(
      (request, response, body) =>
        sendJSON(
          response,
          201,
          configMap("n", { data: { body, ...pick(request.headers, ["content-type", "user-agent"]) } }),
        ),
      async (server, client) => {
        const draft = { metadata: { namespace: "default", name: "n", generation: 9007199254740993n } };
        const { data } = await client.resource(ConfigMap).create(draft, { fieldManager: "me" });
        assert.deepEqual(server.requests, ["POST /api/v1/namespaces/default/configmaps?fieldManager=me"]);
        assert.match(data?.["body"] ?? "", /"generation":9007199254740993/);
        assert.match(data?.["body"] ?? "", /"kind":"ConfigMap"/);
        assert.equal(data?.["content-type"], "application/json");
        assert.equal(data?.["user-agent"], "test/1");
      },
      { http1 },
    ));

  test(`${protocol}: a Status and a text response become a StatusError`, () =>
    withServer(
      (request, response) => {
        if (request.url.endsWith("/text")) {
          response.writeHead(404, { "content-type": "text/plain" });
          response.end("404 page not found\n");
        } else
          sendJSON(response, 409, { kind: "Status", reason: "AlreadyExists", message: "there", code: 409 });
      },
      async (_server, client) => {
        const get = client.resource(Pod).get({ namespace: "a", name: "b" });
        await assert.rejects(
          get,
          (error) => StatusError.is(error, "AlreadyExists") && error.message === "there",
        );
        await assert.rejects(
          client.text("GET", "/text"),
          (error) => StatusError.is(error, "NotFound") && error.message === "404 page not found",
        );
      },
      { http1 },
    ));

  test(`${protocol}: a watch yields events from chunks of any size until the connection is lost`, () =>
    withServer(
      (_request, response) => {
        response.writeHead(200, { "content-type": "application/json" });
        response.write('{"type":"ADDED","object":{"kind":"Pod","metadata":{"name":"é');
        const rest = '"}}}\n{"type":"BOOKMARK","object":{"metadata":{}}}\n{"type"';
        void eventLoopTurns().then(() => response.write(rest));
      },
      async (server, client) => {
        const seen: string[] = [];
        await assert.rejects(
          async () => {
            for await (const { type, object } of client.resource(Pod).watch({ resourceVersion: "5" })) {
              seen.push(`${type} ${object.metadata.name}`);
              if (type === "BOOKMARK") server.cut();
            }
          },
          (error) => error instanceof ConnectionError,
        );
        assert.deepEqual(seen, ["ADDED é", "BOOKMARK undefined"]);
        assert.deepEqual(server.requests, ["GET /api/v1/pods?watch=true&resourceVersion=5"]);
      },
      { http1 },
    ));

  test(`${protocol}: the signal ends a watch without an error`, () =>
    withServer(
      (_request, response) => {
        response.writeHead(200, { "content-type": "application/json" });
        response.write('{"type":"ADDED","object":{"metadata":{"name":"a"}}}\n');
      },
      async (_server, client) => {
        const stop = new AbortController();
        let events = 0;
        for await (const _ of client.resource(Pod).watch({}, { signal: stop.signal })) {
          events++;
          setImmediate(() => stop.abort());
        }
        assert.equal(events, 1);
      },
      { http1 },
    ));

  test(`${protocol}: bytes are streamed as they arrive`, () => {
    const arrived = Promise.withResolvers<void>();
    return withServer(
      (_request, response) => {
        response.writeHead(200, { "content-type": "text/plain" });
        response.write("one\n");
        void arrived.promise.then(() => response.end("two\n"));
      },
      async (_server, client) => {
        const parts: string[] = [];
        for await (const chunk of client.stream("/log")) {
          parts.push(Buffer.from(chunk).toString());
          arrived.resolve();
        }
        assert.deepEqual(parts, ["one\n", "two\n"]);
        assert.equal(await client.text("GET", "/log"), "one\ntwo\n");
      },
      { http1 },
    );
  });
}

function pick(headers: object, names: readonly string[]): object {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => names.includes(name)));
}

test("requests and watches share one connection, which is made again after a loss", () =>
  withServer(
    (request, response) => {
      if (request.url.includes("watch")) {
        response.writeHead(200, { "content-type": "application/json" });
        response.write('{"type":"BOOKMARK","object":{"metadata":{}}}\n');
      } else sendJSON(response, 200, configMap("n"));
    },
    async (server, client) => {
      const maps = client.resource(ConfigMap);
      const watches = [1, 2, 3].map(() => maps.watch()[Symbol.asyncIterator]());
      await Promise.all(watches.map((watch) => watch.next()));
      await Promise.all(Array.from({ length: 20 }, () => maps.get({ namespace: "d", name: "n" })));
      assert.equal(server.connections, 1);
      server.cut();
      await Promise.all(watches.map((watch) => assert.rejects(watch.next(), ConnectionError)));
      await maps.get({ namespace: "d", name: "n" });
      assert.equal(server.connections, 2);
    },
  ));

test("an unreachable server and an unknown authority are a ConnectionError that names the server", async () => {
  const server = await testServer((_request, response) => sendJSON(response, 200, {}));
  const foreign = createClient({ transport: httpsTransport({ server: server.url }), userAgent: "t" });
  await assert.rejects(
    foreign.text("GET", "/"),
    (error) => error instanceof ConnectionError && /certificate/.test(error.message),
  );
  await server.close();
  const gone = createClient({
    transport: httpsTransport({ server: server.url, ca: server.ca }),
    userAgent: "t",
  });
  await assert.rejects(
    gone.text("GET", "/"),
    (error) =>
      error instanceof ConnectionError &&
      error.message.includes(server.url) &&
      /ECONNREFUSED/.test(error.message),
  );
});

test("a silent connection is closed after a ping without a response", async (t) => {
  const clock = fakeClock();
  const { spawn } = await import("node:child_process");
  // A stopped peer keeps its connection, but does not respond.
  const peer = spawn(
    process.execPath,
    [
      ...process.execArgv.filter((x) => !x.startsWith("--test")),
      "--input-type=module",
      "-e",
      `
    const { testServer } = await import(${JSON.stringify(new URL("./testing.ts", import.meta.url).href)});
    const server = await testServer((_q, response) => { response.writeHead(200, {"content-type": "application/json"}); response.write('{"type":"BOOKMARK","object":{"metadata":{}}}\\n'); });
    process.send({ url: server.url, ca: server.ca });
  `,
    ],
    { stdio: ["ignore", "inherit", "inherit", "ipc"] },
  );
  t.after(() => peer.kill("SIGKILL"));
  const { url, ca } = await new Promise<{ url: string; ca: string }>((resolve) =>
    peer.once("message", resolve as never),
  );
  const client = createClient({
    transport: httpsTransport({ server: url, ca, clock }),
    userAgent: "t",
    clock,
  });
  const watch = client.resource(Pod).watch()[Symbol.asyncIterator]();
  await watch.next();
  peer.kill("SIGSTOP");
  const end = assert.rejects(
    watch.next(),
    (error) => error instanceof ConnectionError && /ping/.test(error.message),
  );
  // The first check finds that something was read, the second pings, the third gives up.
  for (let i = 0; i < 3; i++) clock.advance(15_000);
  await end;
  client.close();
});

test("429 and 503 with Retry-After are retried after that time, others are not", async () => {
  const clock = fakeClock();
  let asked = 0;
  await withServer(
    (_request, response) => {
      asked++;
      if (asked === 1) sendJSON(response, 429, { kind: "Status", code: 429 }, { "retry-after": "3" });
      else if (asked === 2) sendJSON(response, 503, { kind: "Status", code: 503 }, { "retry-after": "0" });
      else if (asked === 3) sendJSON(response, 200, configMap("n"));
      else sendJSON(response, 500, { kind: "Status", code: 500, message: "broken" });
    },
    async (_server, client) => {
      const get = client.resource(ConfigMap).get({ namespace: "d", name: "n" });
      await eventually("the client waits", () => clock.pending().includes(3_000));
      clock.advance(2_999);
      assert.equal(asked, 1);
      clock.advance(1);
      const turn = setInterval(() => clock.advance(0), 5);
      assert.equal((await get).metadata.name, "n");
      clearInterval(turn);
      assert.equal(asked, 3);
      await assert.rejects(client.resource(ConfigMap).get({ namespace: "d", name: "n" }), {
        message: "broken",
      });
      assert.equal(asked, 4);
    },
    { clock },
  );
});

test("a token file is read again when the server refuses its token", async () => {
  const { mkdtemp, rm, writeFile } = await import("node:fs/promises");
  const folder = await mkdtemp("/tmp/dray-client-");
  const tokenFile = `${folder}/token`;
  await writeFile(tokenFile, "old\n");
  let valid = "Bearer old";
  await withServer(
    (request, response) =>
      request.headers.authorization === valid
        ? sendJSON(response, 200, configMap("n"))
        : sendJSON(response, 401, {
            kind: "Status",
            code: 401,
            reason: "Unauthorized",
            message: "Unauthorized",
          }),
    async (_server, client) => {
      const get = () => client.resource(ConfigMap).get({ namespace: "d", name: "n" });
      await get();
      valid = "Bearer newer";
      await assert.rejects(get(), { message: "Unauthorized" });
      await writeFile(tokenFile, "newer\n");
      await get();
    },
    { tokenFile },
  );
  await rm(folder, { recursive: true });
});

test("a process with an informer survives the server until it closes the transport", async () => {
  const server = await testServer((_request, response) => sendJSON(response, 200, configMap("n")));
  const { spawn } = await import("node:child_process");
  const script = `
    const { createClient, httpsTransport, sleep, systemClock } = await import("@dray/client");
    const client = createClient({ transport: httpsTransport(${JSON.stringify({ server: server.url, ca: server.ca })}), userAgent: "t" });
    await client.text("GET", "/");
    process.stdout.write("connected\\n");
    for (;;) {
      await sleep(systemClock, 20);
      const answered = await client.text("GET", "/").then(() => true, () => false);
      if (!answered) break;
    }
    await sleep(systemClock, 300);
    process.stdout.write("still here\\n");
    client.close();
  `;
  const flags = process.execArgv.filter((flag) => !flag.startsWith("--test"));
  const cwd = new URL(".", import.meta.url);
  const child = spawn(process.execPath, [...flags, "--input-type=module", "-e", script], {
    cwd,
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => {
    output += chunk.toString();
    if (output === "connected\n") void server.close();
  });
  const code = await new Promise((resolve) => child.once("exit", resolve));
  await server.close();
  assert.deepEqual([code, output], [0, "connected\nstill here\n"]);
});

test("closing the transport ends a connection attempt to a server that does not respond", async () => {
  const silent = createServer();
  const accepted = once(silent, "connection");
  await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
  const { port } = silent.address() as { port: number };
  const client = createClient({
    // A clock without the timeout, which would end the connection too.
    transport: httpsTransport({
      server: `https://127.0.0.1:${port}`,
      clock: { ...systemClock, after: () => () => {} },
    }),
    userAgent: "test/1",
  });
  const got = client.resource(Pod).get({ namespace: "default", name: "n" });
  const refused = assert.rejects(got, ConnectionError);
  const [socket] = (await accepted) as [Socket];
  socket.resume();
  const ended = once(socket, "close");
  client.close();
  await ended;
  await refused;
  silent.close();
});
