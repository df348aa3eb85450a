import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Node } from "@dray/api/core/v1";
import { success } from "@dray/streams";
import { textOf } from "@dray/testing/http";
import { createAuthority, type KubeletClient } from "../index.ts";
import { adminToken } from "../testing/server.ts";
import {
  channels,
  type KubeletBehaviour,
  kubeletClient,
  pod,
  type Streams,
  spdy,
  streams,
} from "../upgrade/testing.ts";
import { kubeletAddress } from "./kubelet.ts";

const { authority: _, ...unverified } = kubeletClient;
const strangers: KubeletClient = {
  ...unverified,
  authority: (await createAuthority("another", Date.now())).certificate,
};
const unknownAuthority = "tls: failed to verify certificate: x509: certificate signed by unknown authority";
const behaviour: KubeletBehaviour = { command: ({ finish }) => finish(success) };

async function log({ server }: Streams, query = ""): Promise<{ status: number; text: string }> {
  const response = await server.handle({
    method: "GET",
    url: `${pod}/log${query}`,
    headers: {},
    credential: { type: "bearer", token: adminToken },
    signal: new AbortController().signal,
  });
  if (response.type === "body")
    return { status: response.status, text: new TextDecoder().decode(response.bytes()) };
  assert.ok(response.type === "bytes");
  return { status: response.status, text: await textOf(response.chunks) };
}

describe("the certificate of a kubelet", () => {
  for (const [name, client] of [
    ["is not verified without an authority", unverified],
    ["is verified with its authority", kubeletClient],
  ] as const) {
    test(name, async (t) => {
      const tested = await streams(t, behaviour, client);
      assert.deepEqual(await log(tested), { status: 200, text: "a line\n" });
      for (const path of ["exec?command=x&stdout=1", "attach?stdout=1", "portforward?ports=80"]) {
        const answer = await tested.upgrade(`${pod}/${path}`, spdy);
        assert.equal(answer.status, 101, path);
      }
      const ws = tested.webSocket(`${pod}/exec?command=x&stdout=1`, ["v5.channel.k8s.io"]);
      const { text, closed } = channels(ws);
      await closed;
      assert.equal(JSON.parse(text[3]!).status, "Success");
      assert.ok(tested.asked.every((line) => line.startsWith("kubelet-client ")));
    });
  }

  test("is rejected if another authority has signed it", async (t) => {
    const tested = await streams(t, behaviour, strangers);
    const failed = await log(tested);
    assert.equal(failed.status, 500);
    assert.match(
      JSON.parse(failed.text).message,
      new RegExp(`^Get "https://127\\.0\\.0\\.1:\\d+/containerLogs/default/p/c": ${unknownAuthority}$`),
    );
    assert.deepEqual(await log(tested, "?insecureSkipTLSVerifyBackend=true"), {
      status: 200,
      text: "a line\n",
    });
    for (const path of ["exec?command=x&stdout=1", "attach?stdout=1", "portforward?ports=80"]) {
      const answer = await tested.upgrade(`${pod}/${path}`, spdy);
      assert.ok("text" in answer, path);
      assert.deepEqual(
        [answer.status, JSON.parse(answer.text).message],
        [500, `error dialing backend: ${unknownAuthority}`],
      );
    }
    assert.deepEqual(tested.asked, []);
  });
});

test("the loopback address of a node is allowed only with onLoopback, and only for its kubelet", async (t) => {
  const ask = async ({ server }: Streams, node: string): Promise<[status: number, text: string]> => {
    const response = await server.handle({
      method: "GET",
      url: `/api/v1/nodes/${node}/proxy/metrics`,
      headers: {},
      credential: { type: "bearer", token: adminToken },
      signal: new AbortController().signal,
    });
    if (response.type === "body")
      return [response.status, JSON.parse(new TextDecoder().decode(response.bytes())).message];
    assert.ok(response.type === "bytes");
    return [response.status, await textOf(response.chunks)];
  };
  const refused = [400, "address not allowed"];
  assert.deepEqual(await ask(await streams(t, behaviour), "n1"), refused);
  const local = await streams(t, behaviour, { ...kubeletClient, onLoopback: true });
  assert.deepEqual(await ask(local, "n1"), [200, "a line\n"]);
  assert.deepEqual(await ask(local, "n1:1"), refused);
  assert.deepEqual(await ask(local, "https:n1:1"), refused);
});

test("a proxied request has the headers of its target and its sender", async (t) => {
  const local = { ...kubeletClient, onLoopback: true };
  let seen: Record<string, unknown> = {};
  const log: KubeletBehaviour["log"] = (response, { headers }) => {
    seen = headers;
    response.end();
  };
  const tested = await streams(t, { log }, local);
  assert.equal((await tested.upgrade("/api/v1/nodes/n1/proxy/x/", {}, "GET")).status, 200);
  assert.equal(seen["x-forwarded-for"], "127.0.0.1");
  assert.equal(seen["x-forwarded-uri"], "/api/v1/nodes/n1/proxy/x/");
  assert.equal(seen["host"], new URL(tested.url).host);
  assert.equal(seen["authorization"], undefined);
});

test("the first preferred type of address that a node has is used", () => {
  const node: Node = {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name: "n", uid: "u", resourceVersion: "1", creationTimestamp: "2026-01-01T00:00:00Z" },
    spec: {},
    status: {
      addresses: [
        { type: "Hostname", address: "n" },
        { type: "ExternalIP", address: "192.0.2.1" },
        { type: "InternalIP", address: "10.0.0.1" },
      ],
    },
  };
  const host = (addressTypes?: string[]): string =>
    kubeletAddress(addressTypes === undefined ? {} : { addressTypes }, node).host;
  assert.equal(host(), "10.0.0.1");
  assert.equal(host(["Hostname", "InternalIP"]), "n");
  assert.equal(host(["InternalDNS", "ExternalIP"]), "192.0.2.1");
  assert.throws(() => host(["InternalDNS"]), {
    message:
      "no preferred addresses found; known addresses: [{Hostname n} {ExternalIP 192.0.2.1} {InternalIP 10.0.0.1}]",
  });
});
