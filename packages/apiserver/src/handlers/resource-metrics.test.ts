import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { after, before, describe, test } from "node:test";
import type { TLSSocket } from "node:tls";
import { createAuthority, issueCertificate } from "../index.ts";
import { adminToken, type TestServer, testServer } from "../testing/server.ts";

const now = Date.now();
const authority = await createAuthority("test-ca", now);
const issue = (commonName: string, usage: "client" | "server") =>
  issueCertificate(authority, { commonName, ipAddresses: ["127.0.0.1"], usages: [usage] }, now);
const kubeletPair = await issue("system:node:n1", "server");
const clientPair = await issue("kube-apiserver-kubelet-client", "client");

const api = "/apis/metrics.k8s.io/v1beta1";

let tested: TestServer;
/** `COMMON NAME PATH` of each request to the kubelet. */
const asked: string[] = [];
/** A node that uses a quarter of a CPU, with a container that uses half a CPU. */
const kubelet = createServer(
  {
    cert: kubeletPair.certificate,
    key: kubeletPair.key,
    ca: authority.certificate,
    requestCert: true,
  },
  (request, response) => {
    asked.push(`${(request.socket as TLSSocket).getPeerCertificate().subject?.CN} ${request.url}`);
    const at = Date.now();
    const labels = '{container="main",namespace="default",pod="busy"}';
    response.end(`node_cpu_usage_seconds_total ${(at - now) / 4000 + 1} ${at}
node_memory_working_set_bytes 1073741824 ${at}
container_cpu_usage_seconds_total${labels} ${(at - now) / 2000 + 1} ${at}
container_memory_working_set_bytes${labels} 2097152 ${at}
`);
  },
);

before(async () => {
  kubelet.listen(0, "127.0.0.1");
  await once(kubelet, "listening");
  const { port: Port } = kubelet.address() as AddressInfo;
  tested = await testServer({
    kubelet: { ...clientPair, authority: authority.certificate },
    disabledAdmissionPlugins: ["ServiceAccount"],
    runtimeConfig: { "metrics.k8s.io/v1beta1": true },
  });
  const addresses = [{ type: "InternalIP", address: "127.0.0.1" }];
  for (const [name, status] of [
    ["n1", { addresses, daemonEndpoints: { kubeletEndpoint: { Port } } }],
    // Nothing listens there.
    ["n2", { addresses, daemonEndpoints: { kubeletEndpoint: { Port: 1 } } }],
  ] as const) {
    await tested.call("POST", "/api/v1/nodes", { body: { metadata: { name, labels: { zone: "z" } } } });
    await tested.call("PATCH", `/api/v1/nodes/${name}/status`, { body: { status } });
  }
  for (const [name, nodeName] of [
    ["busy", "n1"],
    ["starting", "n1"],
    ["elsewhere", "n2"],
  ]) {
    const { status } = await tested.call("POST", "/api/v1/namespaces/default/pods", {
      body: {
        metadata: { name, labels: { app: name } },
        spec: { nodeName, containers: [{ name: "main", image: "i" }] },
      },
    });
    assert.equal(status, 201);
  }
});
after(async () => {
  await tested.server.close();
  kubelet.closeAllConnections();
  kubelet.close();
});

const near = (text: string, cores: number): boolean => {
  assert.match(text, /^\d+[num]?$/);
  const unit = { n: 1e-9, u: 1e-6, m: 1e-3 }[text.at(-1) as "n" | "u" | "m"] ?? 1;
  return Math.abs(Number.parseInt(text, 10) * unit - cores) < 0.01;
};

describe("metrics.k8s.io", () => {
  test("lists nodes and pods with usage, from two readings of each kubelet", async () => {
    const { status, body } = await tested.call("GET", `${api}/nodes`);
    assert.equal(status, 200, JSON.stringify(body));
    const { items, ...list } = body;
    assert.deepEqual(list, { kind: "NodeMetricsList", apiVersion: "metrics.k8s.io/v1beta1", metadata: {} });
    assert.deepEqual(
      items.map((item: { metadata: object }) => item.metadata),
      [{ name: "n1", labels: { zone: "z" }, creationTimestamp: items[0].metadata.creationTimestamp }],
    );
    const [{ usage, window, timestamp }] = items;
    assert.ok(near(usage.cpu, 0.25), usage.cpu);
    assert.equal(usage.memory, "1Gi");
    assert.match(window, /^[12](\.\d+)?s$/);
    assert.ok(Math.abs(Date.parse(timestamp) - Date.now()) < 10_000);

    const pods = (await tested.call("GET", `${api}/pods`)).body.items;
    assert.deepEqual(
      pods.map(({ metadata }: { metadata: object }) => metadata),
      [
        {
          name: "busy",
          namespace: "default",
          labels: { app: "busy" },
          creationTimestamp: pods[0].metadata.creationTimestamp,
        },
      ],
    );
    const [container] = pods[0].containers;
    assert.equal(container.name, "main");
    assert.ok(near(container.usage.cpu, 0.5), container.usage.cpu);
    assert.equal(container.usage.memory, "2Mi");
    const path = "kube-apiserver-kubelet-client /metrics/resource";
    assert.deepEqual(asked, [path, path], "numbers that are new enough are asked for once");
  });

  test("gets one by name, and selects by namespace, labels and fields", async () => {
    const one = await tested.call("GET", `${api}/namespaces/default/pods/busy`);
    assert.deepEqual(
      [one.status, one.body.kind, one.body.containers.length, one.body.metadata.name],
      [200, "PodMetrics", 1, "busy"],
    );
    const names = async (query: string): Promise<string[]> => {
      const { body } = await tested.call("GET", `${api}${query}`);
      return body.items.map(({ metadata }: { metadata: { name: string } }) => metadata.name);
    };
    assert.deepEqual(await names("/namespaces/default/pods?labelSelector=app%3Dbusy"), ["busy"]);
    assert.deepEqual(await names("/pods?labelSelector=app%21%3Dbusy"), []);
    assert.deepEqual(await names("/pods?fieldSelector=metadata.name%3Dbusy"), ["busy"]);
    assert.deepEqual(await names("/namespaces/kube-system/pods"), []);
    assert.deepEqual(await names("/nodes?labelSelector=zone"), ["n1"]);
  });

  test("returns metrics-server's NotFound for objects without usage", async () => {
    for (const [path, message] of [
      ["nodes/n2", 'nodemetrics.metrics.k8s.io "n2" not found'],
      ["nodes/n3", 'node "n3" not found'],
      ["namespaces/default/pods/elsewhere", 'podmetrics.metrics.k8s.io "default/elsewhere" not found'],
      ["namespaces/default/pods/starting", 'podmetrics.metrics.k8s.io "default/starting" not found'],
      ["namespaces/default/pods/nobody", 'pods "nobody" not found'],
    ]) {
      const { status, body } = await tested.call("GET", `${api}/${path}`);
      assert.deepEqual([status, body.reason, body.message], [404, "NotFound", message]);
    }
  });
});

describe("metrics.k8s.io in the API", () => {
  test("encodes Tables and protobuf", async () => {
    const accept = "application/json;as=Table;v=v1;g=meta.k8s.io";
    const { body } = await tested.call("GET", `${api}/pods`, { headers: { accept } });
    assert.deepEqual(
      body.columnDefinitions.map(({ name }: { name: string }) => name),
      ["Name", "cpu", "memory", "Window"],
    );
    assert.equal(body.rows[0].cells[0], "busy");
    assert.equal(body.rows[0].cells[2], "2Mi");
    const protobuf = await tested.server.handle({
      method: "GET",
      url: `${api}/nodes`,
      headers: { accept: "application/vnd.kubernetes.protobuf" },
      credential: { type: "bearer", token: adminToken },
      signal: new AbortController().signal,
    });
    assert.ok(protobuf.type === "body" && protobuf.status === 200);
    assert.ok(Buffer.from(protobuf.bytes()).includes("metrics.k8s.io/v1beta1"));
  });

  test("is read-only, in discovery, and needs a right that view has", async () => {
    const { body } = await tested.call("GET", api);
    assert.deepEqual(
      body.resources.map(({ name, kind, verbs }: { name: string; kind: string; verbs: string[] }) => [
        name,
        kind,
        verbs.join(),
      ]),
      [
        ["nodes", "NodeMetrics", "get,list"],
        ["pods", "PodMetrics", "get,list"],
      ],
    );
    for (const [method, path] of [
      ["POST", "nodes"],
      ["DELETE", "nodes/n1"],
      ["DELETE", "pods"],
    ] as const) {
      const { status } = await tested.call(method, `${api}/${path}`, { body: {} });
      assert.equal(status, 405, `${method} ${path}`);
    }
    const someone = { user: "someone", groups: ["system:authenticated"] };
    assert.equal((await tested.call("GET", `${api}/nodes`, someone)).status, 403);
    await tested.call("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", {
      body: {
        metadata: { name: "viewers" },
        roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "view" },
        subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "someone" }],
      },
    });
    assert.equal((await tested.call("GET", `${api}/nodes`, someone)).status, 200);
    // Nodes of the core group are a different right.
    assert.equal((await tested.call("GET", "/api/v1/nodes", someone)).status, 403);
  });
});

test("metrics.k8s.io is not served by default", async () => {
  const tested = await testServer({ runtimeConfig: { "api/all": true } });
  assert.equal((await tested.call("GET", `${api}/nodes`)).status, 404);
  const { body } = await tested.call("GET", "/apis");
  assert.ok(!JSON.stringify(body).includes("metrics.k8s.io"));
  const role = "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:aggregated-metrics-reader";
  assert.equal((await tested.call("GET", role)).status, 404);
  await tested.server.close();
});
