import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import {
  type AddressInfo,
  connect,
  createServer as createTcpServer,
  type Server,
  type Socket,
} from "node:net";
import { describe, type TestContext, test } from "node:test";
import type { LifecycleHandler, Pod, ProbeHandler } from "@dray/api/core/v1";
import { systemClock } from "@dray/client";
import { service, tcpServer } from "@dray/rpc";
import { HealthDefinition } from "@dray/rpc/grpchealth/v1";
import { temporaryFolder } from "@dray/testing/folder";
import { partial } from "@dray/testing/partial";
import type { NodeNetworkService, RuntimeService } from "../runtime/service.ts";
import { container, sandbox, testRuntime } from "../testing/agent.ts";
import { type ProbeTarget, runHookHandler, runProbe } from "./handlers.ts";

/** The runtime is never called, since no command is run. */
const tools = { runtime: testRuntime("/nowhere", "plain"), clock: systemClock };
const pod = partial<Pod>({
  metadata: { namespace: "ns", name: "p", uid: "u" },
  spec: { containers: [] },
});
const target: ProbeTarget = {
  podUid: "u",
  containerId: "c",
  podIP: "127.0.0.1",
  spec: { name: "main", ports: [{ name: "web", containerPort: 1 }] },
};

async function listening(context: TestContext, server: Server): Promise<number> {
  context.after(() => server.close());
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

async function serve(context: TestContext, answer: RequestListener): Promise<number> {
  const server = createServer(answer);
  context.after(() => server.closeAllConnections());
  return listening(context, server);
}

/** A port without a listener. */
async function freePort(): Promise<number> {
  const server = createTcpServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

const probe = (handler: ProbeHandler, timeout = 20_000) => runProbe(handler, target, timeout, tools);

test("probes of loopback addresses connect from the node, where it has a network of its own", async (context) => {
  const port = await serve(context, (_, response) => response.end());
  // A program of this machine without privileges, which serves port 80 at the one in its place.
  const address = "127.213.11.1";
  const moved = createTcpServer((socket) => socket.destroy()).listen(64_592, address);
  await once(moved, "listening");
  context.after(() => moved.close());
  const asked: string[] = [];
  /** The port 80 of the node. */
  const connectInNode = async (host: string, wanted: number): Promise<Socket> => {
    asked.push(host);
    const socket = connect(wanted === 80 ? port : 1, "127.0.0.1");
    await once(socket, "connect");
    return socket;
  };
  const runtime = partial<RuntimeService>({
    nodeNetwork: partial<NodeNetworkService>({ connect: connectInNode }),
  });
  const of = (handler: ProbeHandler) => runProbe(handler, target, 20_000, { ...tools, runtime });
  const success = { result: "success", output: "" };
  assert.deepEqual(await of({ httpGet: { host: address, port: 80 } }), success);
  assert.deepEqual(await of({ tcpSocket: { host: "localhost", port: 80 } }), success);
  const refused = "dial tcp 127.0.0.1:81: connect: connection refused";
  assert.deepEqual(await of({ httpGet: { host: "127.0.0.1", port: 81 } }), {
    result: "failure",
    output: `Get "http://127.0.0.1:81": ${refused}`,
  });
  assert.deepEqual(await of({ tcpSocket: { host: "127.0.0.1", port: 81 } }), {
    result: "failure",
    output: refused,
  });
  assert.deepEqual(asked, [address, "localhost", "127.0.0.1", "127.0.0.1"]);
});

test("probes of a port that a program without privileges serves elsewhere name the port that it has", async (context) => {
  const host = "127.213.12.1";
  const hosts: unknown[] = [];
  const server = createServer((request, response) => {
    hosts.push(request.headers.host);
    if (request.url === "/healthz") response.writeHead(302, { location: "/there" }).end();
    else if (request.url === "/there") response.end();
  });
  context.after(() => server.closeAllConnections());
  context.after(() => server.close());
  server.listen(64_592, host);
  await once(server, "listening");
  const success = { result: "success", output: "" };
  assert.deepEqual(await probe({ httpGet: { host, port: 80, path: "/healthz" } }), success);
  assert.deepEqual(hosts, [host, host]);
  assert.deepEqual(await probe({ tcpSocket: { host, port: 80 } }), success);
  const { output } = await probe({ httpGet: { host, port: 80, path: "/never" } }, 100);
  assert.equal(
    output,
    `Get "http://${host}:80/never": context deadline exceeded (Client.Timeout exceeded while awaiting headers)`,
  );
});

describe("HTTP probes", () => {
  test("send the headers of the probe, and what is missing of them", async (context) => {
    const seen: Record<string, unknown>[] = [];
    const port = await serve(context, (request, response) => {
      seen.push({ url: request.url, ...request.headers });
      response.end();
    });
    const success = { result: "success", output: "" };
    assert.deepEqual(await probe({ httpGet: { port, path: "/a?b=c" } }), success);
    const httpHeaders = [
      { name: "Host", value: "example.com" },
      { name: "Accept", value: "" },
      { name: "X-Two", value: "1" },
      { name: "X-Two", value: "2" },
      { name: "User-Agent", value: "mine" },
    ];
    assert.deepEqual(await probe({ httpGet: { port, httpHeaders } }), success);
    const common = { connection: "close" };
    assert.deepEqual(seen, [
      { url: "/a?b=c", host: `127.0.0.1:${port}`, "user-agent": "kube-probe/1.37", accept: "*/*", ...common },
      { url: "/", host: "example.com", "user-agent": "mine", "x-two": "1, 2", ...common },
    ]);
  });

  test("fail by the status, and say which", async (context) => {
    const port = await serve(context, (request, response) => {
      response.writeHead(Number(request.url?.slice(1))).end("body");
    });
    const by = async (status: number) => (await probe({ httpGet: { port, path: `/${status}` } })).output;
    assert.equal(await by(500), "HTTP probe failed with statuscode: 500");
    assert.equal(await by(400), "HTTP probe failed with statuscode: 400");
    assert.equal(await by(204), "");
    // Not modified: no redirect to follow.
    assert.equal(await by(304), "Probe terminated redirects, Response body: ");
  });

  test("follow redirects to the same host alone, ten at most", async (context) => {
    const port = await serve(context, (request, response) => {
      const to = { "/here": "/good", "/there": "http://example.invalid/", "/round": "/round" }[
        request.url ?? ""
      ];
      if (to === undefined) response.end();
      else response.writeHead(302, { location: to }).end("gone");
    });
    assert.equal((await probe({ httpGet: { port, path: "/here" } })).result, "success");
    assert.deepEqual(await probe({ httpGet: { port, path: "/there" } }), {
      result: "warning",
      output: "Probe terminated redirects, Response body: gone",
    });
    assert.deepEqual(await probe({ httpGet: { port, path: "/round" } }), {
      result: "failure",
      output: `Get "http://127.0.0.1:${port}/round": stopped after 10 redirects`,
    });
  });

  test("end in time, whatever the server does", async (context) => {
    const port = await serve(context, (_, response) => {
      // Never idle, never done.
      response.writeHead(200);
      const timer = setInterval(() => response.write("x"), 20);
      response.on("close", () => clearInterval(timer));
    });
    const { result, output } = await probe({ httpGet: { port, path: "/slow" } }, 300);
    assert.equal(result, "failure");
    assert.match(output, /^Get "http:\/\/127\.0\.0\.1:\d+\/slow": context deadline exceeded/);
  });

  test("report the error of the connection", async () => {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const refused = `dial tcp 127.0.0.1:${port}: connect: connection refused`;
    assert.equal((await probe({ httpGet: { port } })).output, `Get "${url}": ${refused}`);
    // A probe that cannot be sent has no result.
    await assert.rejects(probe({ httpGet: { port: "nope" } }), {
      message: `couldn't find port "nope" in container "main"`,
    });
  });
});

test("TCP probes connect or fail with the reason", async (context) => {
  const port = await listening(
    context,
    createTcpServer((socket) => socket.destroy()),
  );
  assert.equal((await probe({ tcpSocket: { port } })).result, "success");
  const none = await freePort();
  assert.deepEqual(await probe({ tcpSocket: { port: none } }), {
    result: "failure",
    output: `dial tcp 127.0.0.1:${none}: connect: connection refused`,
  });
});

test("gRPC probes ask the health service for a name", async (context) => {
  const health = service(HealthDefinition, {
    check: async ({ service: name }) => ({ status: name === "well" ? 1 : name === "ill" ? 2 : 0 }),
    async *watch() {},
  });
  const server = await tcpServer("127.0.0.1", 0, [health]);
  context.after(() => server.close(0));
  const port = Number(server.address.split(":").at(-1));
  assert.equal((await probe({ grpc: { port, service: "well" } })).result, "success");
  assert.equal(
    (await probe({ grpc: { port, service: "ill" } })).output,
    'service unhealthy (responded with "NOT_SERVING")',
  );
  const none = await freePort();
  assert.equal(
    (await probe({ grpc: { port: none } }, 400)).output,
    `timeout: failed to connect service "127.0.0.1:${none}" within 400ms: context deadline exceeded`,
  );
});

test("exec probes: output, time-outs, and variables of the container", async (context) => {
  const root = temporaryFolder(context);
  const real = testRuntime(root, "plain");
  await real.start();
  context.after(() => real.close());
  const { id } = await real.runPodSandbox(sandbox);
  const { id: containerId } = await real.createContainer(id, container(root, ["sleep", "1000"]));
  await real.startContainer(containerId);
  context.after(() => real.stopPodSandbox(id));
  const spec = { name: "main", env: [{ name: "WORD", value: "hello" }] };
  const run = (command: string[], timeout: number) =>
    runProbe({ exec: { command } }, { ...target, containerId, spec }, timeout, { ...tools, runtime: real });
  assert.deepEqual(await run(["echo", "$(WORD) $(OTHER)"], 20_000), {
    result: "success",
    output: "hello $(OTHER)\n",
  });
  assert.deepEqual(await run(["sh", "-c", "echo bad; exit 3"], 20_000), {
    result: "failure",
    output: "bad\n",
  });
  assert.deepEqual(await run(["sleep", "1000"], 200), {
    result: "failure",
    output: 'command "sleep 1000" timed out: timeout 200ms exceeded',
  });
});

describe("hooks", () => {
  const hook = (handler: LifecycleHandler) =>
    runHookHandler({ pod, hook: handler, target, timeout: 20_000 }, tools);

  test("over HTTP succeed with any response, and repeat without TLS if the server has none", async (context) => {
    const agents: unknown[] = [];
    const port = await serve(context, (request, response) => {
      agents.push([request.headers["user-agent"], request.headers.authorization]);
      response.writeHead(500).end();
    });
    assert.equal(await hook({ httpGet: { port } }), undefined);
    const httpHeaders = [{ name: "Authorization", value: "secret" }];
    assert.equal(await hook({ httpGet: { port, scheme: "HTTPS", httpHeaders } }), undefined);
    assert.deepEqual(agents, [
      ["kube-lifecycle/1.37", undefined],
      ["kube-lifecycle/1.37", undefined],
    ]);
  });

  test("say whose they are when they fail", async () => {
    const port = await freePort();
    assert.equal(
      await hook({ httpGet: { port, path: "/x" } }),
      `HTTP lifecycle hook (/x) for Container "main" in Pod "p_ns(u)" failed - error: Get "http://127.0.0.1:${port}/x": dial tcp 127.0.0.1:${port}: connect: connection refused`,
    );
    assert.equal(
      await hook({ tcpSocket: { port } }),
      "Cannot run handler: invalid handler: lifecycle hooks are of exec, httpGet or sleep",
    );
  });
});
