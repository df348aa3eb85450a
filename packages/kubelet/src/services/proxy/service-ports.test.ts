import assert from "node:assert/strict";
import { createSocket, type Socket as UdpSocket } from "node:dgram";
import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { type TestContext, test } from "node:test";
import { Budget } from "@dray/streams";
import { fakeClock } from "@dray/testing/clock";
import { eventuallyPasses } from "@dray/testing/eventually";
import type { RouteEndpoint, ServiceRoute } from "../routes.ts";
import { type PlaceProblem, ServicePorts } from "./service-ports.ts";

/** Addresses of this test file alone, so that files run side by side. */
const clusterIP = "127.213.3.1";

const route = (endpoints: readonly RouteEndpoint[], values: Partial<ServiceRoute> = {}): ServiceRoute => ({
  ...{ name: "ns/web:http", protocol: "tcp", clusterIP, port: 8000, externalIPs: [] },
  ...{ internalLocal: false, externalLocal: false, endpoints },
  ...values,
});

function servicePorts(t: TestContext, { connections = 100, maxListeners = 100 } = {}) {
  const clock = fakeClock();
  const problems: PlaceProblem[] = [];
  const sockets = new Budget(connections);
  let exhausted = 0;
  const ports = new ServicePorts({
    ...{ nodeAddress: "127.213.3.250", unprivilegedPortStart: 1024, sockets, maxListeners },
    after: (milliseconds, run) => clock.after(milliseconds, run),
    now: () => clock.now(),
    exhausted: () => exhausted++,
    reported: (problem) => problems.push(problem),
  });
  t.after(() => ports.close());
  return { ports, clock, problems, sockets, exhausted: () => exhausted };
}

/** Starts a server that returns its name, a colon and all that it has received, at the end of the input. */
async function pod(t: TestContext, address: string, port = 9000): Promise<RouteEndpoint & { close(): void }> {
  const sockets = new Set<Socket>();
  const server: Server = createServer({ allowHalfOpen: true }, async (socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.write(`${address} for ${socket.remoteAddress}:`);
    socket.end(await text(socket).catch(() => ""));
  });
  server.listen(port, address);
  await once(server, "listening");
  const close = (): void => {
    server.close();
    for (const socket of sockets) socket.destroy();
  };
  t.after(close);
  return { address, port, close };
}

async function ask(message = "", { address = clusterIP, port = 8000, from = "127.0.0.1" } = {}) {
  const socket = connect({ host: address, port, localAddress: from, allowHalfOpen: true });
  socket.end(message);
  return text(socket);
}

const refused = { code: "ECONNREFUSED" };

test("clients reach the endpoints in turn, and endpoints see who calls", async (t) => {
  const { ports } = servicePorts(t);
  const endpoints = [await pod(t, "127.213.3.2"), await pod(t, "127.213.3.3")];
  await ports.update("ns/web", [route(endpoints)]);
  assert.equal(await ask("hello"), "127.213.3.2 for 127.0.0.1:hello");
  assert.equal(await ask("", { from: "127.213.3.9" }), "127.213.3.3 for 127.213.3.9:");
  const large = "x".repeat(3_000_000);
  assert.equal(await ask(large), `127.213.3.2 for 127.0.0.1:${large}`);
});

test("a Service without endpoints refuses connections, and does not hold the port", async (t) => {
  const { ports } = servicePorts(t);
  const endpoint = await pod(t, "127.213.3.2");
  await ports.update("ns/web", [route([])]);
  assert.equal(ports.listeners, 0);
  await assert.rejects(ask(), refused);
  await ports.update("ns/web", [route([endpoint])]);
  assert.equal(ports.listeners, 1);
  await ask();
  await ports.update("ns/web", []);
  assert.equal(ports.listeners, 0);
  await assert.rejects(ask(), refused);
});

test("connections survive changes of endpoints, and the end of their Service", async (t) => {
  const { ports } = servicePorts(t);
  const [first, second] = [await pod(t, "127.213.3.2"), await pod(t, "127.213.3.3")];
  await ports.update("ns/web", [route([first])]);
  const socket = connect({ host: clusterIP, port: 8000, allowHalfOpen: true });
  const [greeting] = await once(socket, "data");
  assert.match(`${greeting}`, /^127\.213\.3\.2 /);
  await ports.update("ns/web", [route([second])]);
  assert.match(await ask(), /^127\.213\.3\.3 /);
  await ports.update("ns/web", []);
  socket.end("still here");
  assert.equal(await text(socket), "still here");
});

test("an endpoint that does not accept is passed over, and a reset reaches the client", async (t) => {
  const { ports } = servicePorts(t);
  const gone = { address: "127.213.3.4", port: 9000 };
  const there = await pod(t, "127.213.3.3");
  await ports.update("ns/web", [route([gone, there])]);
  for (let i = 0; i < 3; i++) assert.match(await ask(), /^127\.213\.3\.3 /);
  await ports.update("ns/web", [route([gone])]);
  await assert.rejects(ask(), { code: "ECONNRESET" });
});

test("a client keeps its endpoint until the timeout after its last connection", async (t) => {
  const { ports, clock } = servicePorts(t);
  const [first, second] = [await pod(t, "127.213.3.2"), await pod(t, "127.213.3.3")];
  const affine = (endpoints: RouteEndpoint[]): ServiceRoute[] => [route(endpoints, { affinitySeconds: 60 })];
  await ports.update("ns/web", affine([first, second]));
  for (let i = 0; i < 3; i++) assert.match(await ask(), /^127\.213\.3\.2 /);
  clock.advance(59_000);
  assert.match(await ask(), /^127\.213\.3\.2 /);
  assert.match(await ask("", { from: "127.213.3.9" }), /^127\.213\.3\.3 /, "another client");
  clock.advance(61_000);
  const next = await ask();
  await ports.update("ns/web", affine([first]));
  assert.match(await ask(), /^127\.213\.3\.2 /, "its endpoint is gone");
  assert.match(next, /^127\.213\.3\.2 /, "the turn goes on");
});

test("node ports and external addresses follow their own traffic policy", async (t) => {
  const { ports } = servicePorts(t);
  const near = await pod(t, "127.213.3.2");
  const far = { address: "192.0.2.1", port: 9000 };
  const values = { nodePort: 30_123, externalIPs: ["127.213.3.7"], externalLocal: true };
  await ports.update("ns/web", [route([far, near], values)]);
  for (let i = 0; i < 2; i++) {
    assert.match(await ask("", { address: "127.213.3.250", port: 30_123 }), /^127\.213\.3\.2 /);
    assert.match(await ask("", { address: "127.213.3.7" }), /^127\.213\.3\.2 /);
  }
  await ports.update("ns/web", [route([far], { ...values, internalLocal: true })]);
  assert.equal(ports.listeners, 0);
});

test("a pod without privileges is found at the port in place of its own", async (t) => {
  const { ports } = servicePorts(t);
  const { address } = await pod(t, "127.213.3.2", 64_592);
  await ports.update("ns/web", [route([{ address, port: 80 }])]);
  assert.match(await ask(), /^127\.213\.3\.2 /);
});

/** Takes the right to listen on every port from root until the end of the test. */
function dropPrivileges(t: TestContext): void {
  if (process.geteuid?.() !== 0) return;
  process.seteuid?.(65_534);
  t.after(() => process.seteuid?.(0));
}

test("a port that needs a privilege is served at another one", async (t) => {
  dropPrivileges(t);
  const { ports, problems } = servicePorts(t);
  const endpoint = await pod(t, "127.213.3.2");
  await ports.update("ns/web", [route([endpoint], { port: 80 })]);
  await ports.update("ns/web", [route([endpoint], { port: 80 })]);
  assert.match(await ask("", { port: 64_592 }), /^127\.213\.3\.2 /);
  assert.deepEqual(
    problems.map(({ reason }) => reason),
    ["PortMoved"],
  );
});

test("a port that is in use is reported once, and served when it is free", async (t) => {
  const { ports, clock, problems } = servicePorts(t);
  const other = createServer().listen(8000, clusterIP);
  await once(other, "listening");
  const endpoint = await pod(t, "127.213.3.2");
  await ports.update("ns/web", [route([endpoint])]);
  await ports.update("ns/web", [route([endpoint])]);
  assert.deepEqual(
    problems.map(({ service, reason }) => `${service} ${reason}`),
    ["ns/web PortInUse"],
  );
  other.close();
  await once(other, "close");
  clock.advance(30_000);
  await eventuallyPasses(async () => assert.match(await ask(), /^127\.213\.3\.2 /));
});

test("a program that listens on all addresses of the machine serves its own Service", async (t) => {
  const { ports, problems } = servicePorts(t);
  const everywhere = createServer((socket) => socket.end("everywhere")).listen(0, "0.0.0.0");
  t.after(() => everywhere.close());
  await once(everywhere, "listening");
  const { port } = everywhere.address() as { port: number };
  await ports.update("ns/web", [route([{ address: "127.213.3.2", port }], { port })]);
  assert.equal(await ask("", { port }), "everywhere");
  assert.deepEqual(problems, []);
});

test("reports what cannot be served", async (t) => {
  const { ports, problems } = servicePorts(t, { maxListeners: 1 });
  const endpoint = { address: "127.213.3.2", port: 9000 };
  await ports.update("ns/a", [route([endpoint], { clusterIP: "192.0.2.9" })]);
  await ports.update("ns/b", [route([endpoint], { protocol: "sctp" })]);
  await ports.update("ns/c", [route([endpoint]), route([endpoint], { name: "ns/c:more", port: 8001 })]);
  assert.deepEqual(
    problems.map(({ service, reason }) => `${service} ${reason}`),
    ["ns/a AddressNotAvailable", "ns/b UnsupportedProtocol", "ns/c TooManyPorts"],
  );
});

test("more clients than the budget has sockets for are turned away, and others later", async (t) => {
  const { ports, sockets, exhausted } = servicePorts(t, { connections: 1 });
  const endpoint = await pod(t, "127.213.3.2");
  await ports.update("ns/web", [route([endpoint])]);
  const first = connect({ host: clusterIP, port: 8000 });
  await once(first, "data");
  await assert.rejects(ask(), { code: "ECONNRESET" });
  assert.equal(exhausted(), 1);
  first.destroy();
  await eventuallyPasses(() => assert.equal(sockets.used, 0));
  await ask();
});

test("a port that gets another name keeps its listener", async (t) => {
  const { ports, problems } = servicePorts(t);
  const [first, second] = [await pod(t, "127.213.3.2"), await pod(t, "127.213.3.3")];
  await ports.update("ns/web", [route([first])]);
  await ports.update("ns/web", [route([second], { name: "ns/web:other" })]);
  assert.match(await ask(), /^127\.213\.3\.3 /);
  assert.deepEqual(problems, []);
});

/** Returns each datagram with its own address and the client's. */
async function udpPod(t: TestContext, address: string, port = 9000): Promise<RouteEndpoint> {
  const socket = createSocket("udp4");
  socket.on("message", (message, from) =>
    socket.send(`${address} for ${from.address}:${message}`, from.port, from.address),
  );
  socket.bind(port, address);
  await once(socket, "listening");
  t.after(() => socket.close());
  return { address, port };
}

async function udpClient(t: TestContext, from = "127.0.0.1"): Promise<UdpSocket> {
  const socket = createSocket("udp4");
  socket.bind(0, from);
  await once(socket, "listening");
  t.after(() => socket.close());
  return socket;
}

async function askUdp(socket: UdpSocket, message: string): Promise<string> {
  socket.send(message, 8000, clusterIP);
  const [answer, from] = await once(socket, "message");
  assert.equal(`${from.address}:${from.port}`, `${clusterIP}:8000`, "the answer comes from the Service");
  return `${answer}`;
}

test("datagrams of a client go to one endpoint, until it is gone", async (t) => {
  const { ports, sockets, clock } = servicePorts(t);
  const [first, second] = [await udpPod(t, "127.213.3.2"), await udpPod(t, "127.213.3.3")];
  const udp = (endpoints: RouteEndpoint[]): ServiceRoute[] => [route(endpoints, { protocol: "udp" })];
  await ports.update("ns/web", udp([first, second]));
  const [one, other] = [await udpClient(t), await udpClient(t, "127.213.3.9")];
  for (const message of ["a", "b"])
    assert.equal(await askUdp(one, message), `127.213.3.2 for 127.0.0.1:${message}`);
  assert.equal(await askUdp(other, "c"), "127.213.3.3 for 127.213.3.9:c");
  await ports.update("ns/web", udp([second]));
  assert.equal(await askUdp(one, "d"), "127.213.3.3 for 127.0.0.1:d");
  assert.equal(sockets.used, 2);
  clock.advance(130_000);
  await eventuallyPasses(() => assert.equal(sockets.used, 0));
});

test("a UDP pod without privileges is found at the port in place of its own", async (t) => {
  const { ports } = servicePorts(t);
  const { address } = await udpPod(t, "127.213.3.2", 64_565);
  await ports.update("ns/web", [route([{ address, port: 53 }], { protocol: "udp" })]);
  assert.equal(await askUdp(await udpClient(t), "a"), "127.213.3.2 for 127.0.0.1:a");
});
