import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { Resolver } from "node:dns/promises";
import { once } from "node:events";
import { connect, createServer, type Server } from "node:net";
import { text } from "node:stream/consumers";
import { type TestContext, test } from "node:test";
import { Event, Service } from "@dray/api/core/v1";
import { EndpointSlice } from "@dray/api/discovery/v1";
import { silentLog } from "@dray/client";
import { fastClock } from "@dray/testing/clock";
import { eventuallyPasses } from "@dray/testing/eventually";
import { type TestCluster, testCluster } from "../testing/cluster.ts";
import { MachineServices, type MemberServices } from "./machine-services.ts";

const firstAddress = "127.126.16.1";

async function started(t: TestContext, writesResolvConf = true) {
  const cluster = await testCluster({
    serviceRanges: ["127.126.16.0/20"],
    loopbackPods: { port: (_, port) => port },
  });
  const members: MemberServices[] = [];
  const clients = new Set<ReturnType<TestCluster["proxyClient"]>>();
  t.after(async () => {
    for (const member of members) await member.leave();
    for (const client of clients) client.close();
    await cluster.close();
  });
  let changes = 0;
  const join = async (services: MachineServices, node: string) => {
    const client = cluster.proxyClient();
    clients.add(client);
    const member = services.join({
      ...{ client, node, firstAddress, nodeAddress: "127.126.16.250", domain: "cluster.local" },
      ...{ resolvConf: "/etc/resolv.conf", clock: fastClock(20), random: Math.random, newId: randomUUID },
      ...{ log: silentLog, writesResolvConf },
      namesChanged: () => changes++,
    });
    members.push(member);
    await member.ready;
    return {
      ...member,
      get dnsServer() {
        return member.dnsServer;
      },
      async leave() {
        members.splice(members.indexOf(member), 1);
        await member.leave();
        client.close();
      },
    };
  };
  return { cluster, join, changes: () => changes };
}

async function expose(t: TestContext, { admin }: TestCluster): Promise<{ address: string; server: Server }> {
  const server = createServer((socket) => socket.end("pod")).listen(0, "127.213.4.1");
  t.after(() => server.close());
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  const metadata = { namespace: "default", name: "web" };
  const { spec } = await admin.resource(Service).create({ metadata, spec: { ports: [{ port: 8000 }] } });
  await admin.resource(EndpointSlice).create({
    metadata: { ...metadata, labels: { "kubernetes.io/service-name": "web" } },
    addressType: "IPv4",
    endpoints: [{ addresses: ["127.213.4.1"] }],
    ports: [{ port }],
  });
  return { address: spec.clusterIP ?? "", server };
}

const ask = (host: string, port = 8000): Promise<string> => text(connect({ host, port }));

test("Services lead to their endpoints as they change, over nodes that come and go", async (t) => {
  const { cluster, join } = await started(t);
  const services = new MachineServices();
  const first = await join(services, "n1");
  const { address } = await expose(t, cluster);
  await eventuallyPasses(async () => assert.equal(await ask(address), "pod"));
  const second = await join(services, "n2");
  await first.leave();
  const slices = cluster.admin.resource(EndpointSlice);
  await slices.delete({ namespace: "default", name: "web" });
  await eventuallyPasses(async () => assert.rejects(ask(address), { code: "ECONNREFUSED" }));
  await second.leave();
  const third = await join(services, "n3");
  await third.leave();
});

test("of two processes one listens, and the other one takes over when it ends", async (t) => {
  const { cluster, join } = await started(t);
  const first = await join(new MachineServices(), "n1");
  const { address } = await expose(t, cluster);
  await eventuallyPasses(async () => assert.equal(await ask(address), "pod"));
  await join(new MachineServices(), "n2");
  await first.leave();
  await eventuallyPasses(async () => assert.equal(await ask(address), "pod"));
  const { items } = await cluster.admin.resource(Event).list({ namespace: "default" });
  assert.deepEqual(
    items.filter(({ type }) => type === "Warning").map(({ message }) => message),
    [],
  );
});

const privileged = process.getuid?.() !== 0 && "another user may not listen on port 53";

test("names have a DNS server where it can listen", { skip: privileged }, async (t) => {
  const { cluster, join } = await started(t);
  const member = await join(new MachineServices(), "n1");
  const { address } = await expose(t, cluster);
  assert.equal(member.dnsServer, "127.126.16.10");
  assert.equal(member.servedPort(80), 80);
  const resolver = new Resolver({ timeout: 1000, tries: 1 });
  resolver.setServers([member.dnsServer ?? ""]);
  await eventuallyPasses(async () =>
    assert.deepEqual(await resolver.resolve4("web.default.svc.cluster.local"), [address]),
  );
});

test("the lines of hosts files follow the Services where pods have no DNS server", async (t) => {
  const { cluster, join, changes } = await started(t, false);
  const member = await join(new MachineServices(), "n1");
  const { address } = await expose(t, cluster);
  assert.equal(member.dnsServer, undefined);
  const line = new RegExp(`^${address}\tweb.default.svc.cluster.local .* web$`, "m");
  await eventuallyPasses(() => assert.match(member.names("default"), line));
  await eventuallyPasses(() => assert.ok(changes() > 0));
  await cluster.admin.resource(Service).delete({ namespace: "default", name: "web" });
  await eventuallyPasses(() => assert.doesNotMatch(member.names("default"), /web/));
});

test("records an event of a Service that cannot be served", async (t) => {
  const { cluster, join } = await started(t);
  await join(new MachineServices(), "n1");
  const { address, server } = await expose(t, cluster);
  const taken = createServer().listen(8001, address);
  t.after(() => taken.close());
  await once(taken, "listening");
  const { port } = server.address() as { port: number };
  const ref = { namespace: "default", name: "web" };
  await cluster.admin
    .resource(Service)
    .patch(ref, "merge", { spec: { ports: [{ port: 8001, targetPort: port }] } });
  await eventuallyPasses(async () => {
    const { items } = await cluster.admin.resource(Event).list({ namespace: "default" });
    const [event] = items.filter(({ reason }) => reason === "PortInUse");
    assert.equal(event?.involvedObject.name, "web");
    assert.match(event?.message ?? "", new RegExp(`^${address}:8001 is not served: another program`));
  });
});

test("an external name that a hosts file cannot have is an event of its Service, once", async (t) => {
  const { cluster, join } = await started(t, false);
  await join(new MachineServices(), "n1");
  const services = cluster.admin.resource(Service);
  const create = (name: string, externalName: string) =>
    services.create({
      metadata: { namespace: "default", name },
      spec: { type: "ExternalName", externalName },
    });
  await create("inside", "kubernetes.default.svc.cluster.local");
  await create("outside", "example.com");
  await services.patch({ namespace: "default", name: "outside" }, "merge", {
    metadata: { labels: { a: "b" } },
  });
  const { address } = await expose(t, cluster);
  await eventuallyPasses(async () => assert.equal(await ask(address), "pod"));
  const found = async (): Promise<unknown[]> =>
    (await cluster.admin.resource(Event).list({ namespace: "default" })).items
      .filter(({ reason }) => reason === "NameNotResolved")
      .map(({ involvedObject, count }) => [involvedObject.name, count]);
  await eventuallyPasses(async () => assert.deepEqual(await found(), [["outside", 1]]));
});
