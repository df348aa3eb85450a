import assert from "node:assert/strict";
import { connect as tcpConnect } from "node:net";
import { type TestContext, test } from "node:test";
import { connect } from "node:tls";
import { createAuthority, issueCertificate } from "@dray/apiserver/pki";
import { type Client, silentLog, systemClock } from "@dray/client";
import type { RuntimeService } from "../runtime/service.ts";
import { clientLimits } from "./client-limits.ts";
import { NodeServer } from "./server.ts";

const now = Date.now();
const authority = await createAuthority("test-ca", now);
const { certificate, key } = await issueCertificate(
  authority,
  { commonName: "n1", ipAddresses: ["127.0.0.1"], usages: ["server"] },
  now,
);

async function serve(
  t: TestContext,
  timeouts: { header?: number; idle?: number } = {},
  port: number | "kubelet's" = 0,
): Promise<number> {
  const server = new NodeServer({
    client: {} as Client,
    runtime: {} as RuntimeService,
    clock: systemClock,
    log: silentLog,
    nodeName: "n1",
    address: "127.0.0.1",
    serving: { cert: certificate, key, clientCA: authority.certificate },
    timeouts,
    limits: clientLimits(),
    pods: () => [],
    documents: new Map(),
  });
  t.after(() => server.close());
  return server.listen(port === "kubelet's" ? undefined : port);
}

const tls = (port: number) => {
  const socket = connect({ port, host: "127.0.0.1", ca: authority.certificate });
  socket.on("error", () => {});
  return socket;
};

test("a path that cannot be decoded is a mistake of the client", async (t) => {
  const port = await serve(t);
  for (const path of ["/exec/%ff", "/%", "/containerLogs/a/%zz/c", "//"]) {
    const socket = tls(port);
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    const answer = (await socket.toArray()).join("");
    assert.match(answer, /^HTTP\/1\.1 400 .*is not a valid URL path/s, path);
  }
});

test("a second node of the machine gets a free port, as the first has that of kubelets", async (t) => {
  const [first, second] = [await serve(t, {}, "kubelet's"), await serve(t, {}, "kubelet's")];
  // Another test may have the port at this moment.
  assert.ok(second !== 10_250 && second !== first, `${first} and ${second}`);
});

test("a connection without a handshake, a header or a further request is closed", async (t) => {
  const port = await serve(t, { header: 300, idle: 300 });
  const silent = tcpConnect(port, "127.0.0.1").on("error", () => {});
  const slow = tls(port);
  slow.write("GET /healthz HTTP/1.1\r\nX: ");
  const drip = setInterval(() => slow.writable && slow.write("y"), 50);
  const idle = tls(port);
  idle.write("GET /% HTTP/1.1\r\nHost: x\r\n\r\n");
  // `once` would reject at the reset of a handshake that took too long.
  const ends = [silent, slow, idle].map((socket) => new Promise((end) => socket.resume().once("close", end)));
  await Promise.all(ends);
  clearInterval(drip);
});
