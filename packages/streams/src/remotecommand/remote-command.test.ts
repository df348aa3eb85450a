import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { PassThrough, Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { type TestContext, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { WebSocket } from "ws";
import {
  exited,
  type RemoteCommand,
  type RemoteCommandOptions,
  remoteCommandOverSpdy,
  remoteCommandOverWebSocket,
  runRemoteCommand,
  spdySession,
  success,
  webSocketRemoteCommandProtocols,
} from "../index.ts";
import { sockets } from "../testing/sockets.ts";

const all = { stdin: true, stdout: true, stderr: true, tty: false };

test("over SPDY a command has its streams, and its exit code comes last", async (t) => {
  for (const protocol of ["v4.channel.k8s.io", "v2.channel.k8s.io"]) {
    const { near, far, close } = await sockets();
    t.after(close);
    const serving = remoteCommandOverSpdy(far, all, protocol).then(async (command) => {
      const input = await text(command.stdin!);
      command.stdout!.write(input.toUpperCase());
      command.stderr!.write("warning");
      await command.finish(exited(2, "exit status 2"));
    });
    const session = spdySession(near, "client");
    const [stdout, stderr] = [new PassThrough(), new PassThrough()];
    const local = { stdin: Readable.from(["words"]), stdout, stderr, tty: false };
    const outcome = await runRemoteCommand(session, local, protocol);
    assert.equal(String(stdout.read()), "WORDS");
    assert.equal(String(stderr.read()), "warning");
    const message = "command terminated with non-zero exit code: exit status 2";
    assert.deepEqual(
      outcome,
      protocol.startsWith("v4")
        ? { type: "exited", code: 2 }
        : { type: "failed", message: `error executing remote command: ${message}` },
    );
    await serving;
  }
});

test("a terminal has sizes and no errors of its own", async (t) => {
  const { near, far, close } = await sockets();
  t.after(close);
  const wanted = { stdin: false, stdout: true, stderr: true, tty: true };
  const serving = remoteCommandOverSpdy(far, wanted, "v4.channel.k8s.io").then(async (command) => {
    assert.equal(command.stderr, undefined);
    for await (const { width, height } of command.sizes) {
      command.stdout!.write(`${width}x${height} `);
      if (width === 2) break;
    }
    await command.finish(success);
  });
  const stdout = new PassThrough();
  const sizes = Readable.from([
    { width: 1, height: 9 },
    { width: 2, height: 8 },
  ]);
  const session = spdySession(near, "client");
  await runRemoteCommand(session, { stdout, stderr: stdout, sizes, tty: true }, "v4.channel.k8s.io");
  assert.equal(String(stdout.read()), "1x9 2x8 ");
  await serving;
});

test("a client that does not open its streams in time, or goes away, is an error", async (t) => {
  const { near, far, close } = await sockets();
  t.after(close);
  const late = new AbortController();
  const serving = remoteCommandOverSpdy(far, all, "v4.channel.k8s.io", { signal: late.signal });
  const session = spdySession(near, "client");
  await session.createStream({ streamtype: "error" });
  await assert.rejects(session.createStream({ streamtype: "resize" }), /refused/);
  late.abort();
  await assert.rejects(serving, /timed out waiting for client to create streams/);
  await session.closed;
  const other = await sockets();
  t.after(() => other.close());
  const left = remoteCommandOverSpdy(other.far, all, "v4.channel.k8s.io");
  other.near.destroy();
  await assert.rejects(left, /went away/);
});

/** Starts a server that passes on the command of each WebSocket. */
async function webSockets(
  t: TestContext,
  wanted: RemoteCommandOptions,
  supported: readonly string[],
  serve: (command: RemoteCommand) => Promise<void>,
): Promise<(protocols: string[]) => WebSocket> {
  const server = createServer();
  server.on("upgrade", ({ method = "", headers }, socket, head) => {
    const request = { method, headers: headers as Record<string, string> };
    void remoteCommandOverWebSocket({ request, socket, head }, wanted, supported).then(
      (command) => command && serve(command),
    );
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  return (protocols) => {
    const ws = new WebSocket(`ws://127.0.0.1:${port}/`, protocols);
    ws.on("error", () => {});
    return ws;
  };
}

async function messages(ws: WebSocket): Promise<string[]> {
  const found: string[] = [];
  ws.on("message", (data: Buffer, binary: boolean) =>
    found.push(`${binary ? data[0] : data}${binary ? data.subarray(1) : ""}`),
  );
  await once(ws, "close");
  return found;
}

test("over WebSocket the first byte is the channel; base64 where the protocol says so", async (t) => {
  const connect = await webSockets(
    t,
    all,
    webSocketRemoteCommandProtocols,
    async ({ stdin, stdout, finish }) => {
      const [typed] = (await once(stdin!, "data")) as [Buffer];
      stdout!.write(String(typed).toUpperCase());
      await finish(exited(1, "x"));
    },
  );
  const binary = connect(["v4.channel.k8s.io"]);
  binary.on("open", () => binary.send(Buffer.from("\0words")));
  const [first, out, status] = await messages(binary);
  assert.deepEqual([first, out], ["1", "1WORDS"]);
  assert.equal(JSON.parse(status!.slice(1)).details.causes[0].message, "1");
  const textual = connect(["nonsense", "base64.channel.k8s.io"]);
  textual.on("open", () => textual.send(`0${Buffer.from("words").toString("base64")}`));
  const message = Buffer.from("command terminated with non-zero exit code: x").toString("base64");
  assert.deepEqual(await messages(textual), [
    "1",
    `1${Buffer.from("WORDS").toString("base64")}`,
    `3${message}`,
  ]);
  const unnamed = connect([]);
  unnamed.on("open", () => unnamed.send(Buffer.from("\0words")));
  assert.deepEqual((await messages(unnamed)).slice(0, 2), ["1", "1WORDS"]);
});

test("over WebSocket v5 a channel can be closed; invalid messages end the connection or are ignored", async (t) => {
  const connect = await webSockets(t, all, ["v5.channel.k8s.io"], async ({ stdin, stdout, finish }) => {
    stdout!.write(await text(stdin!));
    await finish(success);
  });
  const ws = connect(["v5.channel.k8s.io"]);
  ws.on("open", () => {
    for (const bytes of ["", "\0words", "\x01ignored", "\x09ignored", "\x04{}", "\xff\x01"])
      ws.send(Buffer.from(bytes, "latin1"));
    ws.send(Buffer.of(255, 0));
    ws.send(Buffer.from("\0too late"));
  });
  assert.deepEqual(await messages(ws), ["1", "1words", '3{"status":"Success"}']);
  for (const bad of [Buffer.of(255), Buffer.of(255, 9), Buffer.of(255, 0, 0)]) {
    const ended = connect(["v5.channel.k8s.io"]);
    ended.on("open", () => ended.send(bad));
    assert.equal((await once(ended, "close"))[0], 1002);
  }
  const [error] = (await once(connect(["v4.channel.k8s.io"]), "unexpected-response").then(([, response]) => [
    response.statusCode,
  ])) as [number];
  assert.equal(error, 403);
});

test("unread input of a WebSocket client causes back-pressure", async (t) => {
  let command: RemoteCommand | undefined;
  const connect = await webSockets(t, all, ["v5.channel.k8s.io"], async (served) => {
    command = served;
  });
  const ws = connect(["v5.channel.k8s.io"]);
  await once(ws, "open");
  const chunk = Buffer.alloc(64 * 1024);
  for (let count = 0; count < 500; count++) ws.send(chunk);
  while (command === undefined) await turn();
  for (let count = 0; count < 200; count++) await turn();
  assert.ok(command.stdin!.readableLength < 2 ** 20, `${command.stdin!.readableLength} bytes are kept`);
  assert.ok(ws.bufferedAmount > 0);
  let read = 0;
  for await (const part of command.stdin! as AsyncIterable<Buffer>) {
    read += part.length;
    if (read === 500 * (chunk.length - 1)) break;
  }
  ws.terminate();
  await command.closed;
});
