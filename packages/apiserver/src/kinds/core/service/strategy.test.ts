import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "@dray/client";
import { memoryStore } from "@dray/store";
import type { ServerOptions } from "../../../server/server.ts";
import { type Answer, type TestServer, testServer } from "../../../testing/server.ts";

const path = "/api/v1/namespaces/default/services";
const ipAddresses = "/apis/networking.k8s.io/v1/ipaddresses";

interface Cluster extends TestServer {
  create(name: string, spec: object): Promise<Answer>;
  addresses(): Promise<string[]>;
}

async function cluster(options: Partial<ServerOptions> = {}): Promise<Cluster> {
  const tested = await testServer(options);
  return {
    ...tested,
    create: (name, spec) =>
      tested.call("POST", path, { body: { metadata: { name }, spec: { ports: [{ port: 80 }], ...spec } } }),
    addresses: async () =>
      (await tested.call("GET", ipAddresses)).body.items
        .map(({ metadata }: { metadata: { name: string } }) => metadata.name)
        .sort(),
  };
}

const dual = { serviceRanges: ["10.96.0.0/16", "fd00:10:96::/112"] };

test("a service has an IPAddress as long as it has the address", async () => {
  const { server, call, create, addresses } = await cluster();
  assert.deepEqual(await addresses(), ["10.0.0.1"]);
  const { spec } = (await create("a", {})).body;
  const { body } = await call("GET", `${ipAddresses}/${spec.clusterIP}`);
  assert.deepEqual(body.spec, { parentRef: { resource: "services", namespace: "default", name: "a" } });
  assert.deepEqual(body.metadata.labels, {
    "ipaddress.kubernetes.io/ip-family": "IPv4",
    "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io",
  });
  await call("PATCH", `${path}/a`, { body: { spec: { type: "ExternalName", externalName: "a.example" } } });
  assert.deepEqual(await addresses(), ["10.0.0.1"]);
  const back = await call("PATCH", `${path}/a`, {
    body: { spec: { type: "ClusterIP", externalName: null } },
  });
  assert.deepEqual(await addresses(), ["10.0.0.1", back.body.spec.clusterIP].sort());
  await call("DELETE", `${path}/a`);
  await create("headless", { clusterIP: "None" });
  assert.equal((await create("refused", { ports: [{ port: 0 }] })).status, 422);
  assert.deepEqual(await addresses(), ["10.0.0.1"]);
  await server.close();
});

test("addresses that cannot be had are refused", async () => {
  const { server, create } = await cluster();
  const refusal = async (clusterIP: string): Promise<string> =>
    (await create("a", { clusterIP })).body.message;
  const text = (address: string, why: string): string =>
    `Service "a" is invalid: spec.clusterIPs: Invalid value: ["${address}"]: failed to allocate IP ${address}: ${why}`;
  assert.equal(await refusal("10.0.0.1"), text("10.0.0.1", "provided IP is already allocated"));
  for (const address of ["10.0.1.1", "10.0.0.0", "10.0.0.255"]) {
    const why = "the provided network does not match the current range";
    assert.equal(await refusal(address), text(address, why));
  }
  assert.equal(
    await refusal("fd00::1"),
    'Service "a" is invalid: spec.clusterIPs[0]: Invalid value: ["fd00::1"]: IPv6 is not configured on this cluster',
  );
  await server.close();
});

test("a service without a name whose address has a family that the cluster has not is refused by that", async () => {
  const { server, call } = await cluster();
  const { body } = await call("POST", path, {
    body: { metadata: {}, spec: { clusterIP: "fd00::1", ports: [{}] } },
  });
  assert.equal(
    body.message,
    'Service "" is invalid: spec.clusterIPs[0]: Invalid value: ["fd00::1"]: IPv6 is not configured on this cluster',
  );
  await server.close();
});

test("no two services get the same address or port, however many are made at once", async () => {
  const { server, create, addresses } = await cluster({ serviceRanges: ["10.0.0.0/28"] });
  const answers = await Promise.all(
    Array.from({ length: 16 }, (_, index) => create(`s${index}`, { type: "NodePort" })),
  );
  const made = answers.filter(({ status }) => status === 201);
  // 14 hosts, the first one of which is the server's.
  assert.equal(made.length, 13);
  assert.equal(new Set(made.map(({ body }) => body.spec.clusterIP)).size, 13);
  assert.equal(new Set(made.map(({ body }) => body.spec.ports[0].nodePort)).size, 13);
  const full = answers.find(({ status }) => status !== 201);
  assert.equal(full?.status, 500);
  assert.match(
    full?.body.message,
    /^Internal error occurred: failed to allocate a serviceIP for Service "s\d+": range is full$/,
  );
  assert.equal((await addresses()).length, 14);
  await server.close();

  const other = await cluster();
  const asked = { type: "NodePort", clusterIP: "10.0.0.7", ports: [{ port: 80, nodePort: 30_007 }] };
  const [first, second] = await Promise.all([other.create("a", asked), other.create("b", asked)]);
  assert.deepEqual([first?.status, second?.status].sort(), [201, 422]);
  await other.server.close();
});

test("two servers on one store do not give the same address twice", async () => {
  const store = memoryStore(systemClock);
  const serviceRanges = ["10.0.0.0/27"];
  const servers = [await cluster({ store, serviceRanges }), await cluster({ store, serviceRanges })];
  const answers = await Promise.all(
    Array.from({ length: 24 }, (_, index) => servers[index % 2]!.create(`s${index}`, {})),
  );
  assert.deepEqual([...new Set(answers.map(({ status }) => status))], [201]);
  assert.equal(new Set(answers.map(({ body }) => body.spec.clusterIP)).size, 24);
  for (const { server } of servers) await server.close();
});

test("families follow the policy of the service", async () => {
  const { server, call, create, addresses } = await cluster(dual);
  const single = (await create("single", {})).body.spec;
  assert.deepEqual([single.ipFamilies, single.ipFamilyPolicy], [["IPv4"], "SingleStack"]);
  const both = (await create("both", { ipFamilyPolicy: "RequireDualStack", ipFamilies: ["IPv6"] })).body.spec;
  assert.deepEqual(both.ipFamilies, ["IPv6", "IPv4"]);
  assert.match(both.clusterIPs[0], /^fd00:10:96::/);
  assert.match(both.clusterIPs[1], /^10\.96\./);
  const up = await call("PATCH", `${path}/single`, { body: { spec: { ipFamilyPolicy: "PreferDualStack" } } });
  assert.equal(up.body.spec.clusterIPs.length, 2);
  assert.equal((await addresses()).length, 5);
  const down = await call("PATCH", `${path}/single`, { body: { spec: { ipFamilyPolicy: "SingleStack" } } });
  assert.deepEqual(down.body.spec.clusterIPs, [single.clusterIP]);
  assert.equal((await addresses()).length, 4);
  await server.close();
  const other = await cluster();
  const { body } = await other.create("a", { ipFamilyPolicy: "RequireDualStack" });
  assert.equal(
    body.message,
    'Service "a" is invalid: spec.ipFamilyPolicy: Invalid value: "RequireDualStack": this cluster is not configured for dual-stack services',
  );
  const free = (await other.create("b", { clusterIP: "None" })).body.spec;
  assert.deepEqual([free.ipFamilies, free.ipFamilyPolicy], [["IPv4", "IPv6"], "RequireDualStack"]);
  await other.server.close();
});

test("node ports are given, kept, shared by protocols and refused", async () => {
  const { server, call, create } = await cluster();
  const ports = [
    { name: "udp", protocol: "UDP", port: 53 },
    { name: "tcp", protocol: "TCP", port: 53 },
  ];
  const dns = (await create("dns", { type: "NodePort", ports })).body.spec;
  const [port] = dns.ports;
  assert.equal(dns.ports[1].nodePort, port.nodePort);
  const taken = await create("a", { type: "NodePort", ports: [{ port: 1, nodePort: port.nodePort }] });
  assert.equal(
    taken.body.message,
    `Service "a" is invalid: spec.ports[0].nodePort: Invalid value: ${port.nodePort}: provided port is already allocated`,
  );
  const outside = await create("a", { type: "NodePort", ports: [{ port: 1, nodePort: 20_000 }] });
  assert.match(
    outside.body.message,
    /: 20000: provided port is not in the valid range\. The range of valid ports is 30000-32767$/,
  );
  const same = await call("PUT", `${path}/dns`, {
    body: { metadata: { name: "dns" }, spec: { type: "NodePort", ports } },
  });
  assert.deepEqual(same.body.spec.ports, dns.ports);
  const local = await create("local", { type: "LoadBalancer", externalTrafficPolicy: "Local" });
  const { healthCheckNodePort } = local.body.spec;
  assert.ok(healthCheckNodePort >= 30_000 && healthCheckNodePort !== local.body.spec.ports[0].nodePort);
  const refused = await create("b", {
    type: "LoadBalancer",
    externalTrafficPolicy: "Local",
    healthCheckNodePort,
  });
  assert.equal(refused.status, 500);
  const asked = `failed to allocate requested HealthCheck NodePort ${healthCheckNodePort}`;
  assert.equal(refused.body.message, `Internal error occurred: ${asked}: provided port is already allocated`);
  await server.close();
});

test("a server finds what one before it has left undone", async () => {
  const store = memoryStore(systemClock);
  const first = await cluster({ store });
  const { clusterIP } = (await first.create("a", {})).body.spec;
  await first.call("DELETE", `${ipAddresses}/${clusterIP}`);
  await first.call("POST", ipAddresses, {
    body: {
      metadata: { name: "10.0.0.99", labels: { "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io" } },
      spec: { parentRef: { resource: "services", namespace: "default", name: "gone" } },
    },
  });
  await first.server.close();
  const second = await cluster({ store, advertisedAddress: "192.0.2.7", advertisedPort: 7443 });
  assert.deepEqual(await second.addresses(), ["10.0.0.1", clusterIP].sort());
  const slice = await second.call(
    "GET",
    "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes",
  );
  assert.deepEqual(slice.body.endpoints, [{ addresses: ["192.0.2.7"], conditions: { ready: true } }]);
  assert.deepEqual(slice.body.ports, [{ name: "https", port: 7443, protocol: "TCP" }]);
  const endpoints = await second.call("GET", "/api/v1/namespaces/default/endpoints/kubernetes");
  assert.deepEqual(endpoints.body.subsets, [
    { addresses: [{ ip: "192.0.2.7" }], ports: [{ name: "https", port: 7443, protocol: "TCP" }] },
  ]);
  await second.server.close();
});

test("a dry run looks at what there is, and keeps nothing", async () => {
  const { server, call, create, addresses } = await cluster();
  const before = await addresses();
  const spec = {
    type: "NodePort",
    ports: [
      { name: "x", port: 1 },
      { name: "y", port: 2 },
    ],
  };
  const dry = await call("POST", `${path}?dryRun=All`, { body: { metadata: { name: "a" }, spec } });
  assert.equal(dry.body.spec.clusterIP, "10.0.0.0");
  assert.deepEqual(
    dry.body.spec.ports.map(({ nodePort }: { nodePort: number }) => nodePort),
    [32_769, 32_770],
  );
  assert.deepEqual(await addresses(), before);
  const taken = (await create("b", { type: "NodePort", ports: [{ port: 1, nodePort: 30_001 }] })).body.spec;
  const again = await call("POST", `${path}?dryRun=All`, {
    body: { metadata: { name: "c" }, spec: { ...taken, ports: [{ port: 1, nodePort: 20_000 }] } },
  });
  assert.deepEqual([again.status, again.body.spec.clusterIP], [201, taken.clusterIP]);
  const port = await call("POST", `${path}?dryRun=All`, {
    body: { metadata: { name: "c" }, spec: { type: "NodePort", ports: taken.ports } },
  });
  assert.match(port.body.message, /: 30001: provided port is already allocated$/);
  const outside = await call("PUT", `${path}/c?dryRun=All`, {
    body: { metadata: { name: "c" }, spec: { clusterIP: "10.0.1.1", ports: [{ port: 1 }] } },
  });
  assert.match(outside.body.message, /\(10\.0\.1\.1\) is not in the valid range\. .* is 10\.0\.0\.0\/24$/);
  await server.close();
});

test("ports come out of the range that the server is given, and no two of a service are the same", async () => {
  const { server, call, create } = await cluster({ nodePorts: { first: 31_000, last: 31_001 } });
  const ports = [
    { name: "x", port: 1 },
    { name: "y", port: 2 },
  ];
  const both = (await create("a", { type: "NodePort", ports })).body.spec.ports;
  assert.deepEqual(both.map(({ nodePort }: { nodePort: number }) => nodePort).sort(), [31_000, 31_001]);
  const full = await create("b", { type: "NodePort" });
  assert.equal(full.body.message, "Internal error occurred: failed to allocate a nodePort: range is full");
  const same = both.map((port: object) => ({ ...port, nodePort: 31_000 }));
  const twice = await call("PATCH", `${path}/a`, { body: { spec: { ports: same } } });
  assert.deepEqual([twice.status, twice.body.message], [500, "duplicate nodePort: {TCP 31000}"]);
  await server.close();
});
