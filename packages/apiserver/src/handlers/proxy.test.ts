import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { networkInterfaces } from "node:os";
import { text } from "node:stream/consumers";
import { type TestContext, test } from "node:test";
import type { ServerOptions } from "../index.ts";
import { adminToken, type TestServer, testServer } from "../testing/server.ts";

/** Pods have no loopback address: to be reachable here they need another address of this machine. */
const address = Object.values(networkInterfaces())
  .flatMap((addresses) => addresses ?? [])
  .find(({ internal, family }) => !internal && family === "IPv4")?.address;
const skip = address === undefined && "this machine has no address but the loopback address";

const namespace = "/api/v1/namespaces/n";

/** Starts a pod that returns `METHOD URL`, and a service with the port `web` in front of it. */
async function started(
  t: TestContext,
  options: Partial<ServerOptions> = {},
  podAddress = address,
): Promise<TestServer & { port: number }> {
  const backend = createServer((request, response) => {
    response.end(`${request.method} ${request.url}`);
  });
  backend.listen(0, podAddress);
  await once(backend, "listening");
  const { port } = backend.address() as AddressInfo;
  const tested = await testServer({ ...options, disabledAdmissionPlugins: ["ServiceAccount"] });
  t.after(async () => {
    backend.closeAllConnections();
    backend.close();
    await tested.server.close();
  });
  await tested.namespace("n");
  const containers = [
    { name: "a", image: "i" },
    { name: "c", image: "i", ports: [{ containerPort: port }] },
  ];
  for (const name of ["p", "other"]) {
    await tested.call("POST", `${namespace}/pods`, { body: { metadata: { name }, spec: { containers } } });
    const podIP = name === "p" ? podAddress : "192.0.2.200";
    const body = { status: { podIP, podIPs: [{ ip: podIP }] } };
    await tested.call("PATCH", `${namespace}/pods/${name}/status`, { body });
  }
  const ports = [
    { name: "web", port: 80 },
    { name: "more", port: 81 },
  ];
  await tested.call("POST", `${namespace}/services`, { body: { metadata: { name: "s" }, spec: { ports } } });
  return { ...tested, port };
}

/** Returns an endpoint of the service at this address, with a reference to the pod. */
function slice(name: string, port: number, pod: string, { ready = true, at = address } = {}): object {
  return {
    metadata: { name, labels: { "kubernetes.io/service-name": "s" } },
    addressType: "IPv4",
    ports: [{ name: "web", port }],
    endpoints: [
      { addresses: [at], conditions: { ready }, targetRef: { kind: "Pod", namespace: "n", name: pod } },
    ],
  };
}

async function ask({ server }: TestServer, path: string, method = "GET"): Promise<[number, string]> {
  const response = await server.handle({
    method,
    url: namespace + path,
    headers: {},
    credential: { type: "bearer", token: adminToken },
    signal: new AbortController().signal,
  });
  if (response.type === "bytes") return [response.status, await text(response.chunks)];
  assert.ok(response.type === "body");
  if (response.status === 301) return [301, String(response.headers["location"])];
  return [response.status, JSON.parse(new TextDecoder().decode(response.bytes())).message];
}

test("a pod can be reached by every form of its name, with every method and path", { skip }, async (t) => {
  const tested = await started(t);
  const { port } = tested;
  for (const name of ["p", `p:${port}`, `http:p:${port}`, `:p:${port}`]) {
    assert.deepEqual(await ask(tested, `/pods/${name}/proxy/`), [200, "GET /"], name);
  }
  for (const [path, url] of [
    ["/some/proxy", "/some/proxy"],
    ["/a/b/?q=1", "/a/b/?q=1"],
    ["//a/./b//", "/a/b/"],
    ["/%C3%A9", "/%C3%A9"],
  ] as const) {
    assert.deepEqual(await ask(tested, `/pods/p/proxy${path}`), [200, `GET ${url}`]);
  }
  for (const method of ["DELETE", "OPTIONS", "PATCH", "POST", "PUT"]) {
    assert.deepEqual(await ask(tested, "/pods/p/proxy?x=y", method), [200, `${method} /?x=y`]);
    assert.deepEqual(await ask(tested, "/pods/p/proxy/z", method), [200, `${method} /z`]);
  }
  for (const method of ["GET", "HEAD"]) {
    assert.deepEqual(await ask(tested, "/pods/p/proxy?x=y", method), [301, `${namespace}/pods/p/proxy/?x=y`]);
  }
});

test("a service proxies to a ready pod of its EndpointSlices", { skip }, async (t) => {
  const tested = await started(t);
  const slices = "/apis/discovery.k8s.io/v1/namespaces/n/endpointslices";
  const none = [503, 'no endpoints available for service "s"'];
  assert.deepEqual(await ask(tested, "/services/s:web/proxy/"), none);
  const { port } = tested;
  // An address is used only if it is that of the pod, which is ready.
  for (const body of [
    slice("x", port, "other"),
    slice("y", port, "p", { ready: false }),
    slice("z", port, "gone"),
  ]) {
    await tested.call("POST", slices, { body });
  }
  assert.deepEqual(await ask(tested, "/services/s:web/proxy/"), none);
  await tested.call("POST", slices, { body: slice("s", port, "p") });
  for (const name of ["s:web", "s:80", "http:s:web", "http:s:80"]) {
    assert.deepEqual(await ask(tested, `/services/${name}/proxy/`), [200, "GET /"], name);
  }
  assert.deepEqual(await ask(tested, "/services/s:81/proxy/"), none);
  assert.deepEqual(await ask(tested, "/services/s/proxy/"), none);
  assert.deepEqual(await ask(tested, "/services/s:82/proxy/"), [
    503,
    'no service port 82 found for service "s"',
  ]);
});

test("before 1.37 a service proxies to a pod of its Endpoints", { skip }, async (t) => {
  const tested = await started(t, { kubernetesVersion: "1.36" });
  assert.deepEqual(await ask(tested, "/services/s:web/proxy/"), [404, 'services "s" not found']);
  const targetRef = { kind: "Pod", namespace: "n", name: "p" };
  const subsets = [{ addresses: [{ ip: address, targetRef }], ports: [{ name: "web", port: tested.port }] }];
  await tested.call("POST", `${namespace}/endpoints`, { body: { metadata: { name: "s" }, subsets } });
  assert.deepEqual(await ask(tested, "/services/s:80/proxy/x"), [200, "GET /x"]);
  assert.deepEqual(await ask(tested, "/services/s:81/proxy/"), [
    503,
    'no endpoints available for service "s:81"',
  ]);
});

test("pods that are processes of this machine are reached at their loopback addresses", async (t) => {
  const at = "127.213.2.3";
  let served = 0;
  const asked: string[] = [];
  const loopbackPods = {
    port(host: string, port: number) {
      asked.push(`${host}:${port}`);
      return port === 80 ? served : port;
    },
  };
  const tested = await started(t, { loopbackPods }, at);
  const { port } = tested;
  served = port;
  const slices = "/apis/discovery.k8s.io/v1/namespaces/n/endpointslices";
  await tested.call("POST", slices, { body: slice("s", 80, "p", { at }) });
  for (const path of ["/pods/p/proxy/", "/pods/p:80/proxy/", "/services/s:80/proxy/"])
    assert.deepEqual(await ask(tested, path), [200, "GET /"], path);
  assert.deepEqual([...new Set(asked)], [`${at}:${port}`, `${at}:80`]);
  const body = { metadata: { name: "s" }, subsets: [{ addresses: [{ ip: at }] }] };
  assert.equal((await tested.call("POST", `${namespace}/endpoints`, { body })).status, 201);
});

test("loopback addresses are refused by default", async (t) => {
  const at = "127.213.2.4";
  const tested = await started(t, {}, at);
  assert.deepEqual(await ask(tested, "/pods/p/proxy/"), [400, "address not allowed"]);
  const slices = "/apis/discovery.k8s.io/v1/namespaces/n/endpointslices";
  assert.equal((await tested.call("POST", slices, { body: slice("s", 80, "p", { at }) })).status, 422);
});
