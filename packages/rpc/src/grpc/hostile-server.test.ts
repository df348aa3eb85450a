import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import { after, type TestContext, test } from "node:test";
import { DRAPluginDefinition } from "@dray/rpc/dra/v1";
import { holdsFor } from "@dray/testing/eventually";
import { temporaryFolder } from "@dray/testing/folder";
import { RpcError, unixChannel } from "../index.ts";

const folder = temporaryFolder({ after });

/** Types of frames (RFC 9113, 6). */
const type = { data: 0, headers: 1, reset: 3, settings: 4, ping: 6, goAway: 7, continuation: 9 } as const;

function frame(of: number, flags: number, stream: number, payload: Uint8Array = new Uint8Array()): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(of, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

const settings = frame(type.settings, 0, 0);
/** `:status: 200`, and `content-type: application/grpc`. */
const response = Buffer.concat([Buffer.from([0x88, 0x5f, 16]), Buffer.from("application/grpc", "latin1")]);
const headers = frame(type.headers, 4, 1, response);

/** Writes again and again what `next` returns, as fast as the other side reads, until the connection ends. */
function flood(socket: Socket, next: () => Uint8Array): void {
  const write = (): void => {
    while (!socket.destroyed && socket.write(next()));
    socket.once("drain", () => setImmediate(write));
  };
  write();
}

let servers = 0;
/**
 * A server that does anything with its connections. Returns its path and the number of connections so far.
 */
async function rawServer(t: TestContext, serve: (socket: Socket) => void) {
  const path = join(folder, `s${servers++}`);
  const counts = { connections: 0 };
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    counts.connections++;
    open.add(socket);
    socket.on("error", () => {});
    socket.once("close", () => open.delete(socket));
    serve(socket);
  }).listen(path);
  await once(server, "listening");
  t.after(() => {
    server.close();
    for (const socket of open) socket.destroy();
  });
  return { path, counts };
}

/** Calls `run` when the first request arrives. */
const onRequest = (socket: Socket, run: () => void): void => {
  socket.write(settings);
  // The client's preface and settings come first; a request has more bytes.
  let seen = 0;
  socket.on("data", (bytes) => {
    const before = seen;
    seen += bytes.length;
    if (before < 120 && seen >= 120) run();
  });
};

const one = frame(type.data, 0, 1, Buffer.from([0, 0, 0, 0, 0]));
const goAway = frame(type.goAway, 0, 0, Buffer.alloc(8));

for (const [what, serve, error] of [
  ["never speaks", (socket: Socket) => socket.resume(), /DeadlineExceeded desc = context deadline exceeded$/],
  [
    "speaks another protocol",
    (socket: Socket) => socket.resume().end("HTTP/1.1 400 Bad Request\r\n\r\n"),
    /Unavailable desc = No connection established\. Last error: Protocol error$/,
  ],
  [
    "sends random bytes",
    (socket: Socket) => flood(socket.resume(), () => Buffer.alloc(16_384, 0x5a)),
    /Unavailable desc = No connection established\. Last error: Protocol error$/,
  ],
  [
    "closes each connection",
    (socket: Socket) => socket.destroy(),
    /Unavailable desc = No connection established\. Last error: [\w ]+$/,
  ],
  [
    "goes away at once",
    (socket: Socket) => socket.resume().end(Buffer.concat([settings, goAway])),
    /Unavailable/,
  ],
  [
    "goes away at each request",
    (socket: Socket) => onRequest(socket, () => socket.end(goAway)),
    /Unavailable/,
  ],
  [
    "resets each request",
    (socket: Socket) =>
      onRequest(socket, () => socket.write(frame(type.reset, 0, 1, Buffer.from([0, 0, 0, 2])))),
    /Internal/,
  ],
  ["never responds", (socket: Socket) => onRequest(socket, () => {}), /desc = context deadline exceeded$/],
  [
    "floods with pings",
    (socket: Socket) => {
      onRequest(socket, () => {});
      flood(socket, () => frame(type.ping, 0, 0, Buffer.alloc(8)));
    },
    /Internal|Unavailable|DeadlineExceeded/,
  ],
  [
    "floods with settings",
    (socket: Socket) => {
      onRequest(socket, () => {});
      flood(socket, () => settings);
    },
    /Internal|Unavailable|DeadlineExceeded/,
  ],
  [
    "sends headers without an end",
    (socket: Socket) =>
      onRequest(socket, () => {
        socket.write(frame(type.headers, 0, 1, response));
        const fields = Buffer.alloc(16_384, Buffer.from([0, 1, 0x61, 1, 0x62]));
        flood(socket, () => frame(type.continuation, 0, 1, fields));
      }),
    /ResourceExhausted|Internal/,
  ],
  [
    "sends messages without an end",
    (socket: Socket) =>
      onRequest(socket, () => {
        socket.write(headers);
        flood(socket, () => one);
      }),
    /^rpc error: code = /,
  ],
  [
    "sends data of another stream",
    (socket: Socket) =>
      onRequest(socket, () => flood(socket, () => frame(type.data, 0, 7, Buffer.alloc(16_384)))),
    /Internal/,
  ],
  [
    "sends a message of 4 GiB",
    (socket: Socket) =>
      onRequest(socket, () => {
        socket.write(headers);
        socket.write(frame(type.data, 0, 1, Buffer.from([0, 255, 255, 255, 255])));
        flood(socket, () => frame(type.data, 0, 1, Buffer.alloc(16_384)));
      }),
    /ResourceExhausted desc = Received message larger than max \(4294967295 vs 4194304\)$/,
  ],
] as const)
  test(`a server that ${what} fails the call with a text that is always the same`, async (t) => {
    const { path, counts } = await rawServer(t, serve);
    const channel = unixChannel(path);
    t.after(() => channel.close());
    const before = process.memoryUsage().rss;
    const call = () =>
      channel.caller(DRAPluginDefinition).nodePrepareResources({ claims: [] }, { timeout: 1500 });
    await assert.rejects(call(), (failed: unknown) => {
      assert.ok(failed instanceof RpcError);
      assert.match(failed.message, error);
      assert.ok(failed.message.length < 200, failed.message);
      return true;
    });
    assert.ok(counts.connections <= 10, `${counts.connections} connections`);
    assert.ok(process.memoryUsage().rss - before < 100 * 2 ** 20, "it is not read into memory");
  });

test("a server that ends each connection is connected to with back-off", async (t) => {
  const { path, counts } = await rawServer(t, (socket) =>
    socket.resume().end(Buffer.concat([settings, goAway])),
  );
  const channel = unixChannel(path);
  t.after(() => channel.close());
  let changes = 0;
  channel.watchConnected(() => changes++);
  // 0, 100, 200, 400 and 800 ms after the end of the one before.
  await holdsFor("few connections", () => counts.connections <= 5 && changes <= 11, 1200);
  assert.ok(counts.connections > 1);
});
