import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { Service, ServiceSpec } from "@dray/api/core/v1";
import type { Endpoint, EndpointSlice } from "@dray/api/discovery/v1";
import { silentLog, systemClock } from "@dray/client";
import { partial } from "@dray/testing/partial";
import dnsPacket, {
  type Answer,
  type DecodedPacket,
  type OptAnswer,
  type Packet,
  type RecordType,
} from "dns-packet";
import { MessageReader, messageFrame } from "./frames.ts";
import type { DnsZone } from "./records.ts";
import { type DnsServer, startDnsServer } from "./server.ts";

const services: Record<string, ServiceSpec> = {
  web: {
    clusterIP: "10.0.0.7",
    clusterIPs: ["10.0.0.7", "fd00::7"],
    ports: [
      { name: "http", port: 80, protocol: "TCP" },
      { name: "dns", port: 53, protocol: "UDP" },
      { port: 9, protocol: "TCP" },
    ],
  },
  headless: { clusterIP: "None" },
  empty: { clusterIP: "None" },
  many: { clusterIP: "None" },
  alias: { type: "ExternalName", externalName: "www.example.com." },
  inner: { type: "ExternalName", externalName: "web.ns.svc.cluster.local" },
  loop: { type: "ExternalName", externalName: "loop.ns.svc.cluster.local" },
};
const endpoints: Record<string, Endpoint[]> = {
  headless: [
    { addresses: ["10.1.0.1"], hostname: "db-0" },
    { addresses: ["10.1.0.2"] },
    { addresses: ["10.1.0.3"], hostname: "db-3", conditions: { ready: false } },
  ],
  empty: [{ addresses: ["10.1.0.3"], conditions: { ready: false } }],
  many: Array.from({ length: 100 }, (_, i) => ({ addresses: [`10.2.0.${i + 1}`] })),
};
const serviceOf = (name: string): Service | undefined =>
  services[name] === undefined
    ? undefined
    : partial<Service>({ metadata: { namespace: "ns", name }, spec: services[name] });
const slicesOf = (name: string): EndpointSlice[] => [
  partial<EndpointSlice>({
    metadata: { namespace: "ns", labels: { "kubernetes.io/service-name": name } },
    addressType: "IPv4",
    endpoints: endpoints[name] ?? [],
    ports: [{ name: "sql", protocol: "TCP", port: 5432 }],
  }),
];
const zone: DnsZone = {
  domain: "cluster.local",
  server: "10.9.0.1",
  service: (namespace, name) => (namespace === "ns" ? serviceOf(name) : undefined),
  slices: (namespace, name) => (namespace === "ns" ? slicesOf(name) : []),
  hasNamespace: (namespace) => namespace === "ns",
  services: () => Object.keys(services).flatMap((name) => serviceOf(name) ?? []),
  allSlices: () => Object.keys(services).flatMap(slicesOf),
};

interface Setting {
  readonly server: DnsServer;
  /** Questions that the machine's server received. */
  readonly asked: string[];
}

/**
 * The server, with a server of the machine that knows `www.example.com`, and never answers for
 * `silent.example.com`.
 */
async function setting(t: TestContext): Promise<Setting> {
  const asked: string[] = [];
  const respond = (message: Buffer, transport: string): Buffer | undefined => {
    const { id = 0, questions = [] } = dnsPacket.decode(message);
    const [{ name = "", type = "A" } = {}] = questions;
    asked.push(`${transport} ${type} ${name}`);
    if (name.startsWith("silent.")) return undefined;
    const cut = name.startsWith("long.") && transport === "udp";
    const answers: Answer[] =
      name === "www.example.com" && type === "A" ? [{ type, name, ttl: 60, data: "192.0.2.80" }] : [];
    if (name.startsWith("long.") && !cut) answers.push({ type: "A", name, data: "192.0.2.81" });
    return dnsPacket.encode({
      type: "response",
      id,
      questions,
      answers,
      flags: cut ? dnsPacket.TRUNCATED_RESPONSE : answers.length > 0 ? 0 : 3,
    });
  };
  const tcp = createServer((socket) => {
    const reader = new MessageReader();
    socket.on("error", () => {});
    socket.on("data", (data) => {
      for (const message of reader.read(data)) socket.write(messageFrame(respond(message, "tcp")!));
    });
  }).listen(0, "127.0.0.1");
  await once(tcp, "listening");
  const { port } = tcp.address() as { port: number };
  const udp = createSocket("udp4");
  udp.on("message", (message, from) => {
    const answer = respond(message, "udp");
    if (answer !== undefined) udp.send(answer, from.port, from.address);
  });
  udp.bind(port, "127.0.0.1");
  await once(udp, "listening");
  const folder = mkdtempSync(join(tmpdir(), "dray-dns-"));
  const resolvConf = join(folder, "resolv.conf");
  writeFileSync(resolvConf, "nameserver 127.0.0.1\n");
  const server = await startDnsServer({
    zone,
    address: "127.0.0.1",
    resolvConf,
    upstreamPort: port,
    clock: systemClock,
    newId: randomUUID,
    log: silentLog,
  });
  t.after(async () => {
    await server.close();
    udp.close();
    tcp.close();
    rmSync(folder, { recursive: true });
  });
  return { server, asked };
}

async function byUdp({ port }: DnsServer, message: Buffer): Promise<Buffer> {
  const socket = createSocket("udp4");
  try {
    socket.send(message, port, "127.0.0.1");
    const [answer] = (await once(socket, "message", { signal: AbortSignal.timeout(10_000) })) as [Buffer];
    return answer;
  } finally {
    socket.close();
  }
}

async function byTcp({ port }: DnsServer, message: Buffer): Promise<Buffer> {
  const socket = connect(port, "127.0.0.1");
  const reader = new MessageReader();
  // One byte at a time: TCP keeps no boundaries.
  for (const byte of messageFrame(message)) socket.write(Buffer.of(byte));
  for await (const data of socket) for (const answer of reader.read(data as Buffer)) return answer;
  throw new Error("the server has closed the connection");
}

const query = (name: string, type: RecordType, more: Partial<Packet> = {}): Buffer =>
  dnsPacket.encode({
    type: "query",
    id: 4711,
    flags: dnsPacket.RECURSION_DESIRED,
    questions: [{ name, type }],
    ...more,
  });

async function ask(server: DnsServer, name: string, type: RecordType = "A"): Promise<DecodedPacket> {
  const answer = dnsPacket.decode(await byUdp(server, query(name, type)));
  assert.equal(answer.id, 4711);
  assert.equal(answer.questions?.[0]?.name, name);
  return answer;
}

/** The answers as text, or the error code without one. */
async function read(server: DnsServer, name: string, type: RecordType = "A"): Promise<unknown> {
  const { answers = [], rcode } = (await ask(server, name, type)) as DecodedPacket & { rcode: string };
  if (answers.length === 0) return rcode;
  return answers.map((one) => {
    const { data } = one as { data: unknown };
    if (one.type === "SRV") return `${one.data.port} ${one.data.target}`;
    return one.type === "TXT" ? String(data) : data;
  });
}

test("names of the cluster have the records of the DNS specification of Kubernetes", async (t) => {
  const { server, asked } = await setting(t);
  const ns = "ns.svc.cluster.local";
  const cases: [name: string, type: RecordType, expected: unknown][] = [
    [`web.${ns}`, "A", ["10.0.0.7"]],
    [`WEB.ns.svc.Cluster.local`, "A", ["10.0.0.7"]],
    [`web.${ns}`, "AAAA", ["fd00::7"]],
    [`web.${ns}`, "TXT", "NOERROR"],
    [`web.${ns}`, "SRV", [`80 web.${ns}`, `53 web.${ns}`, `9 web.${ns}`]],
    [`_http._tcp.web.${ns}`, "SRV", [`80 web.${ns}`]],
    [`_dns._udp.web.${ns}`, "SRV", [`53 web.${ns}`]],
    [`_dns._tcp.web.${ns}`, "SRV", "NXDOMAIN"],
    [`_http._tcp.web.${ns}`, "A", "NOERROR"],
    [`x.web.${ns}`, "A", "NXDOMAIN"],
    [`none.${ns}`, "A", "NXDOMAIN"],
    [`web.other.svc.cluster.local`, "A", "NXDOMAIN"],
    [ns, "A", "NOERROR"],
    ["other.svc.cluster.local", "A", "NXDOMAIN"],
    // Headless: ready endpoints, named by hostname or address.
    [`headless.${ns}`, "A", ["10.1.0.1", "10.1.0.2"]],
    [`headless.${ns}`, "AAAA", "NOERROR"],
    [`db-0.headless.${ns}`, "A", ["10.1.0.1"]],
    [`10-1-0-2.headless.${ns}`, "A", ["10.1.0.2"]],
    [`db-3.headless.${ns}`, "A", "NXDOMAIN"],
    [`_sql._tcp.headless.${ns}`, "SRV", [`5432 db-0.headless.${ns}`, `5432 10-1-0-2.headless.${ns}`]],
    [`empty.${ns}`, "A", "NXDOMAIN"],
    ["10-1-2-3.ns.pod.cluster.local", "A", ["10.1.2.3"]],
    ["fd00--5.ns.pod.cluster.local", "AAAA", ["fd00::5"]],
    ["10-1-2.ns.pod.cluster.local", "A", "NXDOMAIN"],
    ["7.0.0.10.in-addr.arpa", "PTR", [`web.${ns}`]],
    [`7.${"0.".repeat(27)}0.0.d.f.ip6.arpa`, "PTR", [`web.${ns}`]],
    ["1.0.1.10.in-addr.arpa", "PTR", [`db-0.headless.${ns}`]],
    ["dns-version.cluster.local", "TXT", ["1.1.0"]],
    ["cluster.local", "NS", ["ns.dns.cluster.local"]],
    ["ns.dns.cluster.local", "A", ["10.9.0.1"]],
    // Aliases lead on, within the cluster and out of it.
    [`inner.${ns}`, "A", [`web.${ns}`, "10.0.0.7"]],
    [`loop.${ns}`, "CNAME", [`loop.${ns}`]],
  ];
  for (const [name, type, expected] of cases)
    assert.deepEqual(await read(server, name, type), expected, `${type} ${name}`);
  assert.deepEqual(asked, []);
  const { answers = [] } = await ask(server, `loop.${ns}`);
  assert.ok(answers.length > 0 && answers.length < 16);
  assert.deepEqual(await read(server, `alias.${ns}`), ["www.example.com", "192.0.2.80"]);
  const negative = await ask(server, `none.${ns}`);
  assert.equal(negative.authorities?.[0]?.type, "SOA");
  const srv = await ask(server, `_sql._tcp.headless.${ns}`, "SRV");
  assert.deepEqual(
    srv.additionals?.map((one) => (one as { data: unknown }).data),
    ["10.1.0.1", "10.1.0.2"],
  );
});

test("other names are asked of the machine's servers, by the client's transport", async (t) => {
  const { server, asked } = await setting(t);
  assert.deepEqual(await read(server, "www.example.com"), ["192.0.2.80"]);
  assert.equal(await read(server, "none.example.com"), "NXDOMAIN");
  assert.equal(await read(server, "9.0.2.192.in-addr.arpa", "PTR"), "NXDOMAIN");
  const cut = await ask(server, "long.example.com");
  assert.equal(cut.flag_tc, true);
  const whole = dnsPacket.decode(await byTcp(server, query("long.example.com", "A")));
  assert.partialDeepStrictEqual(whole.answers, [{ data: "192.0.2.81" }]);
  assert.deepEqual(asked, [
    "udp A www.example.com",
    "udp A none.example.com",
    "udp PTR 9.0.2.192.in-addr.arpa",
    "udp A long.example.com",
    "tcp A long.example.com",
  ]);
  assert.equal(await read(server, "silent.example.com"), "SERVFAIL");
});

test("a response too long for UDP is truncated unless the client allows it, and whole over TCP", async (t) => {
  const { server } = await setting(t);
  const name = "many.ns.svc.cluster.local";
  const cut = await ask(server, name);
  assert.equal(cut.flag_tc, true);
  assert.ok(cut.answers!.length > 5 && cut.answers!.length < 20, `${cut.answers?.length}`);
  const whole = dnsPacket.decode(await byTcp(server, query(name, "A")));
  assert.equal(whole.answers?.length, 100);
  // 20 of 16 bytes and the name fit into what a client with EDNS takes.
  endpoints["some"] = endpoints["many"]!.slice(0, 20);
  services["some"] = { clusterIP: "None" };
  const option: OptAnswer = {
    type: "OPT",
    name: ".",
    udpPayloadSize: 4096,
    extendedRcode: 0,
    ednsVersion: 0,
    flags: 0,
    flag_do: false,
    options: [],
  };
  const message = query("some.ns.svc.cluster.local", "A", { additionals: [option] });
  const long = dnsPacket.decode(await byUdp(server, message));
  assert.equal(long.answers?.length, 20);
  assert.equal(long.additionals?.[0]?.type, "OPT");
});

test("a malformed query is an error; responses and partial headers get no answer", async (t) => {
  const { server } = await setting(t);
  const broken = Buffer.concat([query("a.b", "A").subarray(0, 12), Buffer.of(63, 1)]);
  assert.equal((await byUdp(server, broken)).readUInt8(3), 1);
  const update = query("web.ns.svc.cluster.local", "A");
  update[2] = 5 << 3;
  assert.equal((await byUdp(server, update)).readUInt8(3) & 15, 4);
  // A response, and half a header: the next query is answered, these are not.
  const socket = createSocket("udp4");
  t.after(() => socket.close());
  const response = query("web.ns.svc.cluster.local", "A");
  response[2] = 0x80;
  for (const message of [response, Buffer.alloc(5), query("web.ns.svc.cluster.local", "A", { id: 7 })])
    socket.send(message, server.port, "127.0.0.1");
  const [answer] = (await once(socket, "message")) as [Buffer];
  assert.equal(dnsPacket.decode(answer).id, 7);
});

test("rejects a query with several questions, whose response could exceed a message", async (t) => {
  const { server } = await setting(t);
  const questions = Array.from({ length: 1500 }, () => ({
    name: "web.ns.svc.cluster.local",
    type: "A" as const,
  }));
  const message = dnsPacket.encode({ type: "query", id: 4711, flags: 0, questions });
  const answer = dnsPacket.decode(await byTcp(server, message)) as DecodedPacket & { rcode: string };
  assert.equal(answer.rcode, "FORMERR");
  assert.deepEqual(await read(server, "web.ns.svc.cluster.local"), ["10.0.0.7"]);
});
