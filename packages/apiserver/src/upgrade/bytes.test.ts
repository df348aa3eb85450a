import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { pod, streams, webSocketHeaders } from "./testing.ts";

interface Received {
  readonly protocol: string;
  readonly messages: (string | Buffer)[];
}

test("a log over WebSocket is an empty message, then its bytes in messages of at most 2048", async (t) => {
  const long = "0123456789".repeat(500);
  const { webSocket } = await streams(t, { log: (response) => response.end(long) });
  const received = async (protocols: string[]): Promise<Received> => {
    const ws = webSocket(`${pod}/log?container=c`, protocols);
    const messages: (string | Buffer)[] = [];
    ws.on("message", (data: Buffer, binary: boolean) => messages.push(binary ? data : data.toString()));
    const [code] = await once(ws, "close");
    assert.equal(code, 1000);
    return { protocol: ws.protocol, messages };
  };
  for (const protocols of [[], ["binary.k8s.io"], ["x", "binary.k8s.io", "base64.binary.k8s.io"]]) {
    const { protocol, messages } = await received(protocols);
    assert.equal(protocol, protocols.length === 0 ? "" : "binary.k8s.io");
    assert.ok(messages.every((message) => Buffer.isBuffer(message) && message.length <= 2048));
    assert.equal(messages[0]!.length, 0);
    assert.equal(Buffer.concat(messages as Buffer[]).toString(), long);
  }
  const { protocol, messages } = await received(["base64.binary.k8s.io"]);
  assert.equal(protocol, "base64.binary.k8s.io");
  assert.equal(messages[0], "");
  assert.equal(messages.map((text) => Buffer.from(text as string, "base64").toString()).join(""), long);
});

test("a followed log ends when its client disconnects", async (t) => {
  let ended: Promise<unknown> | undefined;
  const { webSocket } = await streams(t, {
    log(response) {
      response.write("a line\n");
      ended = once(response, "close");
    },
  });
  const ws = webSocket(`${pod}/log?follow=1`, ["binary.k8s.io"]);
  await once(ws, "message");
  const [line] = await once(ws, "message");
  assert.equal(String(line), "a line\n");
  ws.close();
  await ended;
});

test("a WebSocket is rejected for other subprotocols, and without a log", async (t) => {
  const { webSocket, upgrade } = await streams(t, {});
  const [, response] = await once(webSocket(`${pod}/log`, ["v4.channel.k8s.io"]), "unexpected-response");
  assert.equal(response.statusCode, 403);
  const missing = await upgrade(`${pod}/log?container=x`, webSocketHeaders, "GET");
  assert.ok("text" in missing);
  assert.deepEqual(
    [missing.status, JSON.parse(missing.text).message],
    [400, "container x is not valid for pod p"],
  );
});
