import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { WebSocket } from "ws";
import {
  type ForwardedConnection,
  forwardedPorts,
  portForwardOverSpdy,
  portForwardOverWebSocket,
  spdySession,
} from "../index.ts";
import { sockets } from "../testing/sockets.ts";

test("the two streams of a connection are brought together, whichever comes first", async (t) => {
  const { near, far, close } = await sockets();
  t.after(close);
  const seen: string[] = [];
  portForwardOverSpdy(far, ({ port, requestId, data, error }: ForwardedConnection) => {
    seen.push(`${requestId}:${port}`);
    error.end(`no ${port}`);
    data.end();
  });
  const client = spdySession(near, "client");
  const open = (type: string, port: string, request: string) =>
    client.createStream({ streamType: type, port, requestID: request });
  const data1 = await open("data", "80", "a");
  const error2 = await open("error", "81", "b");
  const error1 = await open("error", "80", "a");
  const data2 = await open("data", "81", "b");
  assert.equal(await text(error1), "no 80");
  assert.equal(await text(error2), "no 81");
  assert.equal((await text(data1)) + (await text(data2)), "");
  assert.deepEqual(seen, ["a:80", "b:81"]);
  // Old clients send no request ID: the stream for the error comes first.
  const old = await client.createStream({ streamtype: "error", port: "82" });
  await client.createStream({ streamtype: "data", port: "82" });
  assert.equal(await text(old), "no 82");
});

test("streams that say nothing of use are refused", async (t) => {
  const { near, far, close } = await sockets();
  t.after(close);
  portForwardOverSpdy(far, () => {});
  const client = spdySession(near, "client");
  await client.createStream({ streamtype: "data", port: "80", requestid: "1" });
  const refused: Record<string, string>[] = [
    { streamtype: "data", port: "80", requestid: "1" },
    { streamtype: "data", requestid: "2" },
    { streamtype: "data", port: "0", requestid: "2" },
    { streamtype: "data", port: "65536", requestid: "2" },
    { streamtype: "data", port: "1e3", requestid: "2" },
    { port: "80", requestid: "2" },
    { streamtype: "stdin", port: "80", requestid: "2" },
  ];
  for (const headers of refused) await assert.rejects(client.createStream(headers), /refused/);
});

test("over WebSocket each port has two channels, on which it stands first", async (t) => {
  const server = createServer();
  server.on("upgrade", ({ method = "", headers, url }, socket, head) => {
    const ports = forwardedPorts(new URL(url!, "http://h").searchParams);
    const request = { method, headers: headers as Record<string, string> };
    void portForwardOverWebSocket({ request, socket, head }, ports, ({ port, data, error }) => {
      if (port === 81) {
        error.end("nobody listens");
        data.destroy();
        return;
      }
      data.once("data", (bytes: Buffer) => data.end(String(bytes).toUpperCase()));
      // Ends the error stream as a kubelet does, which waits for both sides: the client cannot end its own.
      data.once("end", () => error.end());
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  for (const protocol of ["v4.channel.k8s.io", "v4.base64.channel.k8s.io"]) {
    const ws = new WebSocket(`ws://127.0.0.1:${port}/?port=80,81&port=258`, [protocol]);
    const textual = protocol.includes("base64");
    const got: Buffer[] = [];
    ws.on("message", (data: Buffer) => {
      const channel = textual ? data[0]! - 48 : data[0]!;
      const bytes = textual ? Buffer.from(String(data.subarray(1)), "base64") : data.subarray(1);
      got[channel] = Buffer.concat([got[channel] ?? Buffer.alloc(0), bytes]);
    });
    await once(ws, "open");
    for (const channel of [0, 4]) {
      ws.send(
        textual
          ? `${channel}${Buffer.from("words").toString("base64")}`
          : Buffer.from([channel, ...Buffer.from("words")]),
      );
    }
    await once(ws, "close");
    assert.deepEqual(
      got.map((bytes) => bytes.toString("latin1")),
      ["\x50\0WORDS", "\x50\0", "\x51\0", "\x51\0nobody listens", "\x02\x01WORDS", "\x02\x01"],
    );
  }
});

test("ports of a query are read as kubelets read them", () => {
  const read = (query: string) => forwardedPorts(new URLSearchParams(query));
  assert.deepEqual(read("port=80,81&port=82"), [80, 81, 82]);
  const wrong: Record<string, RegExp> = {
    "": /"port" is required/,
    "port=": /cannot be empty/,
    "port=a": /unable to parse "a" as a port/,
    "port=65536": /unable to parse/,
    "port=0": /port "0" must be > 0/,
  };
  for (const [query, message] of Object.entries(wrong)) assert.throws(() => read(query), message);
});
