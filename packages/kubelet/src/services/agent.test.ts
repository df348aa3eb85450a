import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { test } from "node:test";
import { Service } from "@dray/api/core/v1";
import { EndpointSlice } from "@dray/api/discovery/v1";
import { silentLog } from "@dray/client";
import { fastClock } from "@dray/testing/clock";
import { eventuallyPasses } from "@dray/testing/eventually";
import dnsPacket from "dns-packet";
import { testCluster } from "../testing/cluster.ts";
import { ServiceAgent } from "./agent.ts";
import type { LedServices, ServiceNetwork } from "./network.ts";

/** Last written rules, by agents of which one leads. */
class TestNetwork implements ServiceNetwork {
  readonly gateway = "127.0.0.1";
  written: LedServices = { routes: [] };
  writes = 0;
  repairs = 0;
  failures = 0;
  #turn: Promise<void> = Promise.resolve();

  async setServices(services: LedServices): Promise<void> {
    if (this.failures-- > 0) throw new Error("iptables-restore: no");
    this.writes++;
    this.written = services;
  }

  async repair(): Promise<void> {
    this.repairs++;
  }

  async lead(work: () => Promise<void>, signal: AbortSignal): Promise<void> {
    const aborted = new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    const before = this.#turn;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#turn = promise;
    await Promise.race([before, aborted]);
    try {
      signal.throwIfAborted();
      await work();
    } finally {
      void before.then(resolve);
    }
  }
}

async function resolve(port: number | undefined, name: string): Promise<unknown> {
  const socket = createSocket("udp4");
  try {
    socket.send(
      dnsPacket.encode({ type: "query", id: 1, questions: [{ type: "A", name }] }),
      port ?? 0,
      "127.0.0.1",
    );
    const [message] = (await once(socket, "message", { signal: AbortSignal.timeout(10_000) })) as [Buffer];
    return dnsPacket.decode(message).answers?.map((one) => (one as { data: unknown }).data);
  } finally {
    socket.close();
  }
}

test("one agent at a time leads Services, as they change, and the next goes on when it ends", async (t) => {
  const cluster = await testCluster();
  const network = new TestNetwork();
  network.failures = 1;
  const clients = [cluster.proxyClient(), cluster.proxyClient()];
  const agents = clients.map(
    (client) =>
      new ServiceAgent({
        client,
        network,
        domain: "cluster.local",
        resolvConf: "/etc/resolv.conf",
        clock: fastClock(50),
        newId: randomUUID,
        log: silentLog,
      }),
  );
  t.after(async () => {
    for (const agent of agents) await agent.stop();
    for (const client of clients) client.close();
    await cluster.close();
  });
  agents[0]?.start();
  const metadata = { namespace: "default", name: "web" };
  await cluster.admin.resource(Service).create({
    metadata,
    spec: { clusterIP: "10.0.0.77", ports: [{ name: "http", port: 80 }] },
  });
  await cluster.admin.resource(EndpointSlice).create({
    metadata: { ...metadata, labels: { "kubernetes.io/service-name": "web" } },
    addressType: "IPv4",
    endpoints: [{ addresses: ["192.0.2.1"] }],
    ports: [{ name: "http", port: 8080 }],
  });
  const web = () => network.written.routes.find(({ name }) => name === "default/web:http");
  await eventuallyPasses(async () =>
    assert.deepEqual(web()?.endpoints, [{ address: "192.0.2.1", port: 8080 }]),
  );
  const first = network.written.dnsPort;
  agents[1]?.start();
  assert.deepEqual(await resolve(first, "web.default.svc.cluster.local"), ["10.0.0.77"]);
  const { writes, repairs } = network;
  await eventuallyPasses(async () => assert.ok(network.repairs > repairs));
  assert.equal(network.writes, writes, "nothing has changed");

  await agents[0]!.stop();
  await eventuallyPasses(async () => assert.notEqual(network.written.dnsPort, first));
  await cluster.admin.resource(Service).delete(metadata);
  await eventuallyPasses(async () => assert.equal(web(), undefined));
  assert.deepEqual(await resolve(network.written.dnsPort, "web.default.svc.cluster.local"), []);
});
