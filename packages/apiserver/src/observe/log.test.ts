import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import type { TLSSocket } from "node:tls";
import { textOf } from "@dray/testing/http";
import { createAuthority, issueCertificate } from "../index.ts";
import { testServer } from "../testing/server.ts";

const now = Date.now();
const pods = "/api/v1/namespaces/default/pods";

test("logs come from the kubelet of the pod's node, requested with the server's own certificate", async () => {
  const authority = await createAuthority("test-ca", now);
  const own = await issueCertificate(authority, { commonName: "kubelet-client", usages: ["client"] }, now);
  const theirs = await issueCertificate(
    authority,
    { commonName: "system:node:n1", ipAddresses: ["127.0.0.1"], usages: ["server"] },
    now,
  );
  const seen: string[] = [];
  const tls = { cert: theirs.certificate, key: theirs.key, ca: authority.certificate, requestCert: true };
  const kubelet = createServer(tls, (request, response) => {
    const socket = request.socket as TLSSocket;
    seen.push(`${socket.getPeerCertificate().subject.CN} ${request.url}`);
    response.setHeader("content-type", "text/plain");
    response.write("one\n");
    response.end("two\n");
  });
  kubelet.listen(0, "127.0.0.1");
  await once(kubelet, "listening");
  const { port } = kubelet.address() as AddressInfo;
  const { server, call } = await testServer({
    kubelet: { ...own, authority: authority.certificate },
    disabledAdmissionPlugins: ["ServiceAccount"],
  });
  await call("POST", "/api/v1/nodes", { body: { metadata: { name: "n1" } } });
  const status = {
    addresses: [{ type: "InternalIP", address: "127.0.0.1" }],
    daemonEndpoints: { kubeletEndpoint: { Port: port } },
  };
  await call("PATCH", "/api/v1/nodes/n1/status", { body: { status } });
  const containers = [{ name: "c", image: "i" }];
  await call("POST", pods, { body: { metadata: { name: "p" }, spec: { nodeName: "n1", containers } } });
  const response = await server.handle({
    method: "GET",
    url: `${pods}/p/log?tailLines=5&follow=true`,
    headers: {},
    credential: { type: "user", user: { name: "admin", groups: ["system:masters"] } },
    signal: new AbortController().signal,
  });
  assert.ok(response.type === "bytes");
  assert.equal(await textOf(response.chunks), "one\ntwo\n");
  assert.deepEqual(seen, ["kubelet-client /containerLogs/default/p/c?follow=true&tailLines=5"]);
  const wrong = await call("GET", `${pods}/p/log?container=nope`);
  assert.equal(wrong.status, 400);
  assert.equal(wrong.body.message, "container nope is not valid for pod p");
  kubelet.close();
  await server.close();
});
