import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { eventually } from "@dray/testing/eventually";
import { adminToken } from "../testing/server.ts";
import { streams } from "./testing.ts";

test("a watch over WebSocket is one message an event", async (t) => {
  const { webSocket, call, server } = await streams(t, {});
  const path = "/api/v1/namespaces?watch=1&fieldSelector=metadata.name=w";
  const headers = { authorization: `Bearer ${adminToken}`, origin: "https://ui.example.com" };
  const json = webSocket(path, ["base64.binary.k8s.io"], headers);
  const protobuf = webSocket(path, [], { ...headers, accept: "application/vnd.kubernetes.protobuf" });
  await Promise.all([once(json, "open"), once(protobuf, "open")]);
  assert.equal(json.protocol, "base64.binary.k8s.io");
  const first = Promise.all([once(json, "message"), once(protobuf, "message")]);
  await call("POST", "/api/v1/namespaces", { body: { metadata: { name: "w" } } });
  const [[text, binary], [bytes]] = await first;
  assert.equal(binary, false);
  const { type, object } = JSON.parse(String(text));
  assert.deepEqual([type, object.kind, object.metadata.name], ["ADDED", "Namespace", "w"]);
  // Field 1 of a WatchEvent, without a length in front.
  assert.equal((bytes as Buffer).subarray(0, 7).toString("latin1"), "\n\x05ADDED");
  const watchers = async (): Promise<number> => {
    const { body } = await call("GET", "/metrics");
    return Number(/longrunning_requests\{.*resource="namespaces".*\} (\d+)/.exec(body)![1]);
  };
  assert.equal(await watchers(), 2);
  json.close();
  await once(json, "close");
  await eventually("the watcher is gone", async () => (await watchers()) <= 1);
  // A handshake without an Origin is rejected, as is a list of subprotocols.
  for (const [protocols, more, code] of [
    [[], { authorization: headers.authorization }, 403],
    [["a", "b"], headers, 400],
  ] as const) {
    const [, response] = await once(webSocket(path, [...protocols], more), "unexpected-response");
    assert.equal(response.statusCode, code);
  }
  const ended = once(protobuf, "close");
  await server.close();
  await ended;
});
