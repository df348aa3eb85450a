import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type Container, Event, Pod, type PodSpec, ServiceAccount } from "@dray/api/core/v1";
import { eventuallyPasses } from "@dray/testing/eventually";
import { freePorts } from "@dray/testing/ports";
import { podBecomes, podOn, type TestCluster, testCluster } from "../../../testing/cluster.ts";
import { listenFailure, listenHint } from "./failure-hint.ts";
import { elfProgram } from "./testing.ts";

let cluster: TestCluster;

before(async () => {
  cluster = await testCluster();
  await cluster.admin
    .resource(ServiceAccount)
    .create({ metadata: { namespace: "default", name: "default" } });
  await cluster.node("n1", { isolation: "plain" });
});
after(() => cluster.close());

async function create(
  name: string,
  container: Partial<Container>,
  spec: Partial<PodSpec> = {},
): Promise<void> {
  const containers = [{ name: "main", ...container }];
  await cluster.admin
    .resource(Pod)
    .create(
      podOn("n1", name, { containers, restartPolicy: "Never", automountServiceAccountToken: false, ...spec }),
    );
}

const ref = (name: string) => ({ namespace: "default", name });

async function hasEvent(name: string, reason: string, message: RegExp): Promise<void> {
  await eventuallyPasses(async () => {
    const { items } = await cluster.admin.resource(Event).list({ namespace: "default" });
    const own = items.filter((event) => event.involvedObject.name === name && event.reason === reason);
    assert.ok(
      own.some((event) => message.test(event.message ?? "")),
      JSON.stringify(own),
    );
  });
}

test("where two pods collide, an event and the message of the end say which pod has the port", async () => {
  const [port = 0] = await freePorts(1);
  // Without the library, as a program in Go.
  const listen = `require("node:net").createServer().listen(${port}, "0.0.0.0", () => console.log("ready"))`;
  const command = ["env", "-u", "LD_PRELOAD", process.execPath, "-e", listen];
  const ready = { readinessProbe: { tcpSocket: { port }, periodSeconds: 1 } };
  await create("first", { command, ...ready });
  await podBecomes(
    cluster.admin,
    ref("first"),
    ({ status }) => status?.containerStatuses?.[0]?.ready === true,
  );
  await create("second", { command });
  const text = new RegExp(
    `port ${port} is in use on all addresses of the machine by pod default/first, process \\d+ \\(.+\\): .* \\$DRAY_POD_IP`,
  );
  await podBecomes(cluster.admin, ref("second"), ({ status }) =>
    text.test(status?.containerStatuses?.[0]?.state?.terminated?.message ?? ""),
  );
  await hasEvent("second", "UnsupportedByRuntime", text);
});

test("a program that can find none of its volumes is not started, and its pod says what helps", async () => {
  const program = join(cluster.rootDir("n1"), "driver");
  mkdirSync(cluster.rootDir("n1"), { recursive: true });
  writeFileSync(program, elfProgram({ note: "Go\0\0" }), { mode: 0o755 });
  const volumeMounts = [{ name: "data", mountPath: "/dray-missing/data" }];
  await create("go", { command: [program], volumeMounts }, { volumes: [{ name: "data", emptyDir: {} }] });
  const text = /driver is a program in Go, .* \/dray-missing\/data: .* What helps: name the path/;
  await hasEvent("go", "Failed", text);
  await podBecomes(cluster.admin, ref("go"), ({ status }) => {
    const { waiting } = status?.containerStatuses?.[0]?.state ?? {};
    return waiting?.reason === "RunContainerError" && text.test(waiting.message ?? "");
  });
});

test("ports are found in the messages of programs, and not in times", () => {
  const found = [
    "2026/11/28 23:56:30 listen tcp :8080: bind: address already in use",
    "Error: listen EADDRINUSE: address already in use :::8080\n  code: 'EADDRINUSE',",
    "23:56:30 bind() to 0.0.0.0:8080 failed (98: Address already in use)",
    "OSError: [Errno 98] Address already in use",
    "listen tcp [::]:80: bind: permission denied",
    "all is well at 10:10",
  ].map((line) => listenFailure(`before :1\n${line}\nafter :2\n`));
  assert.deepEqual(found, [
    ...Array(3).fill({ problem: "in use", ports: [8080] }),
    { problem: "in use", ports: [] },
    { problem: "denied", ports: [80] },
    undefined,
  ]);
});

test("declared ports count where the message names none", async (t) => {
  const server = createServer().listen(0, "127.0.0.1");
  t.after(() => server.close());
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  const listening = { addresses: ["127.0.0.1"], declaredPorts: [port], firstFreePort: 1024 };
  assert.match(
    listenHint({ problem: "in use", ports: [] }, listening) ?? "",
    new RegExp(`port ${port} is in use on 127.0.0.1 by process ${process.pid} \\(`),
  );
  assert.match(listenHint({ problem: "denied", ports: [80] }, listening) ?? "", /64592 .* from 1024 on/);
  assert.equal(listenHint({ problem: "denied", ports: [8080] }, listening), undefined);
});
