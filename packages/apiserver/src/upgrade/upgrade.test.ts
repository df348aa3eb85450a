import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Duplex, duplexPair, Readable } from "node:stream";
import { buffer, text } from "node:stream/consumers";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { systemClock } from "@dray/client";
import { exited, type RemoteCommand, runRemoteCommand, spdySession, success } from "@dray/streams";
import { createWebSocketStream, WebSocket } from "ws";
import { adminToken } from "../testing/server.ts";
import { channels, pod, spdy, streams, type Upgraded, webSocketHeaders } from "./testing.ts";
import { upgradeThrough } from "./through.ts";

/** A command that prints its terminal size, echoes its input, and ends with code 3. */
async function echo({ stdin, stdout, stderr, sizes, finish }: RemoteCommand): Promise<void> {
  for await (const { width, height } of sizes) {
    stdout!.write(`${width}x${height}\n`);
    break;
  }
  stderr?.write("a warning\n");
  if (stdin) for await (const chunk of stdin) stdout!.write(chunk);
  await finish(exited(3, "exit status 3"));
}

const message = (channel: number, text: string): Buffer =>
  Buffer.concat([Buffer.of(channel), Buffer.from(text)]);

function connectionOf(upgraded: Upgraded): { socket: Duplex; head: Buffer } {
  assert.ok("socket" in upgraded, JSON.stringify(upgraded));
  return upgraded;
}

test("exec over SPDY is passed through to the kubelet, with the server's certificate", async (t) => {
  const { upgrade, asked, headers } = await streams(t, { command: echo });
  const path = `${pod}/exec?command=sh&command=-c&command=a%20b&stdin=true&stdout=1&stderr=true&container=c`;
  const { socket, head } = connectionOf(await upgrade(path, spdy));
  const session = spdySession(socket, "client", { head });
  const [stdout, stderr] = [new Collector(), new Collector()];
  const sent = "0123456789".repeat(300_000);
  const local = { stdin: Readable.from([sent]), stdout, stderr, tty: false };
  assert.deepEqual(await runRemoteCommand(session, local, "v4.channel.k8s.io"), { type: "exited", code: 3 });
  assert.equal(stdout.text, sent);
  assert.equal(stderr.text, "a warning\n");
  await session.closed;
  assert.deepEqual(asked, [
    "kubelet-client POST /exec/default/p/c?command=sh&command=-c&command=a+b&error=1&input=1&output=1",
  ]);
  assert.equal(headers[0]!.authorization, undefined);
  assert.equal(headers[0]!["x-forwarded-for"], "127.0.0.1");
});

test("exec over WebSocket v5 is translated: close of stdin, sizes, exit code", async (t) => {
  const { webSocket, asked, headers } = await streams(t, { command: echo });
  const ws = webSocket(`${pod}/exec?command=cat&stdin=1&stdout=1&tty=1`, ["v5.channel.k8s.io"]);
  await once(ws, "open");
  assert.equal(ws.protocol, "v5.channel.k8s.io");
  const { text, closed } = channels(ws);
  ws.send(message(4, '{"Width":80,"Height":24}'));
  while (!text[1]) await turn();
  ws.send(message(0, "typed"));
  ws.send(Buffer.of(255, 0));
  await closed;
  assert.equal(text[1], "80x24\ntyped");
  assert.deepEqual(JSON.parse(text[3]!), {
    metadata: {},
    status: "Failure",
    message: "command terminated with non-zero exit code: command terminated with exit code 3",
    reason: "NonZeroExitCode",
    details: { causes: [{ reason: "ExitCode", message: "3" }] },
  });
  assert.deepEqual(asked, ["kubelet-client POST /exec/default/p/c?command=cat&input=1&output=1&tty=1"]);
  assert.equal(
    headers[0]!["x-stream-protocol-version"],
    "v5.channel.k8s.io, v4.channel.k8s.io, v3.channel.k8s.io, v2.channel.k8s.io, channel.k8s.io",
  );
});

test("attach reports success; its stderr is separate", async (t) => {
  const { webSocket, asked } = await streams(t, {
    async command({ stdout, stderr, finish }) {
      stdout!.write("out");
      stderr!.write("err");
      await finish(success);
    },
  });
  const ws = webSocket(`${pod}/attach?stdout=1&stderr=1`, ["v5.channel.k8s.io"]);
  const { text, closed } = channels(ws);
  await closed;
  assert.deepEqual(
    [text[1], text[2], JSON.parse(text[3]!)],
    ["out", "err", { metadata: {}, status: "Success" }],
  );
  assert.deepEqual(asked, ["kubelet-client POST /attach/default/p/c?error=1&output=1"]);
});

test("older WebSocket protocols, and all for a kubelet that supports them, are passed through", async (t) => {
  const { webSocket, asked, headers, call } = await streams(t, { command: echo });
  const ws = webSocket(`${pod}/exec?command=cat&stdout=1&stderr=1`, ["v4.channel.k8s.io"]);
  const { text, closed } = channels(ws);
  await closed;
  assert.equal(text[2], "a warning\n");
  assert.equal(JSON.parse(text[3]!).details.causes[0].message, "3");
  assert.deepEqual(asked, ["kubelet-client GET /exec/default/p/c?command=cat&error=1&output=1"]);
  assert.equal(headers[0]!["sec-websocket-protocol"], "v4.channel.k8s.io");
  await call("PATCH", "/api/v1/nodes/n1/status", {
    body: { status: { declaredFeatures: ["ExtendWebSocketsToKubelet"] } },
  });
  const raw = webSocket(`${pod}/exec?command=cat&stdout=1`, ["v5.channel.k8s.io", "v4.channel.k8s.io"]);
  await once(raw, "open");
  assert.equal(raw.protocol, "v4.channel.k8s.io");
  assert.equal(
    headers[1]!["sec-websocket-protocol"],
    "v5.channel.k8s.io,v4.channel.k8s.io".replace(",", ", "),
  );
});

test("port-forward over WebSocket tunnels SPDY", async (t) => {
  const { upgrade, asked, headers } = await streams(t, {
    connection({ port, data, error }) {
      error.end();
      data.write(`port ${port}: `);
      data.pipe(data);
    },
  });
  const protocol = "SPDY/3.1+portforward.k8s.io";
  const offered = { ...webSocketHeaders, "sec-websocket-protocol": protocol };
  const upgraded = await upgrade(`${pod}/portforward`, offered, "GET");
  assert.equal(upgraded.response.headers["sec-websocket-protocol"], protocol);
  const { socket, head } = connectionOf(upgraded);
  const ws = overSocket(socket, head);
  const session = spdySession(createWebSocketStream(ws), "client");
  const answers = [80, 8080].map(async (port) => {
    const about = { port: String(port), requestid: String(port) };
    const error = await session.createStream({ ...about, streamtype: "error" });
    const data = await session.createStream({ ...about, streamtype: "data" });
    error.end();
    data.end("x".repeat(500_000));
    return [(await buffer(data)).length, await text(error)];
  });
  assert.deepEqual(await Promise.all(answers), [
    [500_009, ""],
    [500_011, ""],
  ]);
  assert.deepEqual(asked, ["kubelet-client POST /portForward/default/p"]);
  assert.equal(headers[0]!["x-stream-protocol-version"], "portforward.k8s.io");
  assert.equal(headers[0]!["sec-websocket-key"], undefined);
  session.close();
});

test("a browser's token is one of the subprotocols, and is not passed on", async (t) => {
  const { webSocket, headers } = await streams(t, { command: echo });
  const token = `base64url.bearer.authorization.k8s.io.${Buffer.from(adminToken).toString("base64url")}`;
  const path = `${pod}/exec?command=x&stdout=1`;
  for (const protocol of ["v4.channel.k8s.io", "v5.channel.k8s.io"]) {
    const ws = webSocket(path, [token, protocol], {});
    await once(ws, "open");
    assert.equal(ws.protocol, protocol);
    ws.close();
  }
  assert.equal(headers[0]!["sec-websocket-protocol"], "v4.channel.k8s.io");
  const wrong = "base64url.bearer.authorization.k8s.io.d3Jvbmc";
  for (const protocols of [[token], [wrong, "v5.channel.k8s.io"]]) {
    const [error] = (await once(webSocket(path, protocols, {}).removeAllListeners("error"), "error").catch(
      (error: Error) => [error],
    )) as [Error];
    assert.match(error.message, /401/);
  }
});

for (const protocol of ["v5.channel.k8s.io", "v4.channel.k8s.io"]) {
  test(`when either side of ${protocol} goes away, so does the other`, async (t) => {
    let running: RemoteCommand | undefined;
    const { webSocket, connections, server } = await streams(t, {
      async command(command) {
        running = command;
        await command.closed;
      },
    });
    const open = async (): Promise<WebSocket> => {
      running = undefined;
      const ws = webSocket(`${pod}/exec?command=x&stdin=1&stdout=1`, [protocol]);
      await once(ws, "open");
      while (running === undefined) await turn();
      return ws;
    };
    const first = await open();
    first.terminate();
    await running!.closed;
    const second = await open();
    const closed = once(second, "close");
    for (const connection of connections) connection.destroy();
    await closed;
    const third = await open();
    const over = [once(third, "close"), running!.closed];
    await server.close();
    await Promise.all(over);
  });
}

test("bytes right behind the request and behind its response belong to the proxied connection", async (t) => {
  const backend = createServer();
  backend.on("upgrade", (_, socket, head) => {
    socket.write(`HTTP/1.1 101 Very Well\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nhello ${head}`);
    socket.pipe(socket);
  });
  backend.listen(0, "127.0.0.1");
  await once(backend, "listening");
  t.after(() => backend.close());
  const { port } = backend.address() as AddressInfo;
  const gone = new AbortController();
  const answer = await upgradeThrough(
    { scheme: "http", host: "127.0.0.1", port: String(port) },
    {
      method: "GET",
      url: "/",
      headers: { connection: "upgrade", upgrade: "x" },
      credential: { type: "none" },
      signal: gone.signal,
    },
    "/path",
    systemClock,
  );
  assert.ok(answer.type === "upgrade");
  const [near, far] = duplexPair();
  answer.accept(far, Buffer.from("early "));
  near.end("late");
  assert.equal(
    await text(near),
    "HTTP/1.1 101 Very Well\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nhello early late",
  );
});

/**
 * Returns a WebSocket on a connection that was upgraded by hand: the library offers no protocol with a slash
 * in its name.
 */
function overSocket(socket: Duplex, head: Buffer): WebSocket {
  const ws = new WebSocket(null as unknown as string, undefined, {}) as WebSocket & {
    _isServer: boolean;
    setSocket(socket: Duplex, head: Buffer, options: object): void;
  };
  ws._isServer = false;
  ws.setSocket(socket, head, { allowSynchronousEvents: true, maxPayload: 0, skipUTF8Validation: false });
  return ws;
}

/** Collects the bytes that are written to it. */
class Collector extends Duplex {
  text = "";

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk.toString();
    done();
  }
}
