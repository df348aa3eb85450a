import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Kind } from "@dray/api";
import { Endpoints, Namespace, Service, ServiceAccount } from "@dray/api/core/v1";
import { EndpointSlice } from "@dray/api/discovery/v1";
import { ClusterRole, ClusterRoleBinding } from "@dray/api/rbac/v1";
import { silentLog, systemClock } from "@dray/client";
import { memoryStore } from "@dray/store";
import { eventually } from "@dray/testing/eventually";
import { type ExposedMetric, readExposition } from "@dray/testing/exposition";
import { temporaryFolder } from "@dray/testing/folder";
import { httpsRequest } from "@dray/testing/http";
import {
  type ControlPlane,
  type Credentials,
  ensureCredentials,
  layoutOf,
  serverAddresses,
  startControlPlane,
} from "../index.ts";

const names = ["kube-scheduler", "kube-controller-manager"] as const;
const namespace = "kube-system";

const folder = temporaryFolder({ after });
const store = memoryStore(systemClock);
let credentials: Credentials;
let plane: ControlPlane;
before(async () => {
  credentials = await ensureCredentials(layoutOf(folder), [], Date.now());
  plane = await startOn("host");
});
after(async () => {
  await plane.stop();
  await store.close();
});

function startOn(runtime: string): Promise<ControlPlane> {
  return startControlPlane({
    ...{ store, credentials, clock: systemClock, log: silentLog },
    ...{ kubernetesVersion: "1.37", runtime, featureGates: "", port: 0 },
    bindAddress: "127.0.0.1",
    addresses: serverAddresses({ bind: "127.0.0.1" }),
  });
}

type Name = (typeof names)[number];

/** As Prometheus: the address is that of the Service's EndpointSlice. */
async function ask(name: Name, path: string, headers: Record<string, string> = {}) {
  const slices = plane.admin.resource(EndpointSlice);
  const labelSelector = `kubernetes.io/service-name=${name}`;
  const slice = await eventually(
    `an EndpointSlice of ${name}`,
    async () => (await slices.list({ namespace, labelSelector })).items[0],
  );
  const [{ port } = {}] = slice.ports ?? [];
  const [{ addresses: [host] = [] } = {}] = slice.endpoints ?? [];
  const { status, body } = await httpsRequest(`https://${host}:${port}${path}`, {
    ca: credentials.authority.certificate,
    headers,
  });
  return { status, body: body.toString() };
}

/** The value of a series; undefined without it. */
function seriesValue(metric: ExposedMetric | undefined, labels: Record<string, string>): number | undefined {
  return metric?.samples.find((sample) =>
    Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
  )?.value;
}

test("Services have the labels and ports that kube-prometheus selects", async () => {
  for (const name of names) {
    const { metadata, spec } = await plane.admin.resource(Service).get({ namespace, name });
    assert.equal(metadata.labels?.["app.kubernetes.io/name"], name);
    assert.deepEqual([spec.clusterIP, spec.ports?.[0]?.name], ["None", "https-metrics"]);
    const { subsets } = await plane.admin.resource(Endpoints).get({ namespace, name });
    assert.equal(subsets?.[0]?.addresses?.[0]?.ip, "127.0.0.1");
  }
});

test("metrics are for users who may get the path, health is for everybody", async () => {
  for (const name of names) {
    assert.deepEqual(await ask(name, "/healthz"), { status: 200, body: "ok" });
    assert.equal((await ask(name, "/metrics")).status, 401);
    assert.equal((await ask(name, "/metrics", { authorization: "Bearer nonsense" })).status, 401);
  }
  // As the ClusterRole of kube-prometheus.
  const prometheus = { namespace: "monitoring", name: "prometheus-k8s" };
  await plane.admin.resource(Namespace).create({ metadata: { name: prometheus.namespace }, spec: {} });
  await plane.admin.resource(ServiceAccount).create({ metadata: prometheus });
  const path = `/api/v1/namespaces/${prometheus.namespace}/serviceaccounts/${prometheus.name}/token`;
  const request = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} };
  const review = await plane.admin.text("POST", path, { body: request });
  const authorization = `Bearer ${JSON.parse(review).status.token}`;
  for (const name of names) assert.equal((await ask(name, "/metrics", { authorization })).status, 403);
  const metadata = { name: prometheus.name };
  await plane.admin.resource(ClusterRole).create({
    metadata,
    rules: [{ nonResourceURLs: ["/metrics", "/metrics/slis"], verbs: ["get"] }],
  });
  await plane.admin.resource(ClusterRoleBinding).create({
    metadata,
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: prometheus.name },
    subjects: [{ kind: "ServiceAccount", ...prometheus }],
  });
  for (const name of names) {
    await eventually(
      `${name} lets Prometheus read`,
      async () => (await ask(name, "/metrics", { authorization })).status === 200,
    );
    assert.equal((await ask(name, "/metrics/slis", { authorization })).status, 200);
    assert.equal((await ask(name, "/other", { authorization })).status, 403);
  }
});

test("metrics of requests, queues, pods and the process", async () => {
  const { certificate: cert, key } = credentials.admin;
  const scrape = async (name: Name, path = "/metrics") => {
    const { subsets } = await plane.admin.resource(Endpoints).get({ namespace, name });
    const url = `https://127.0.0.1:${subsets?.[0]?.ports?.[0]?.port}${path}`;
    const { body } = await httpsRequest(url, { ca: credentials.authority.certificate, cert, key });
    return readExposition(body.toString());
  };
  const [scheduler, controllers] = await Promise.all([scrape(names[0]), scrape(names[1])]);
  for (const metrics of [scheduler, controllers]) {
    assert.ok(seriesValue(metrics.get("process_resident_memory_bytes"), {})! > 1 << 20);
    assert.ok(seriesValue(metrics.get("rest_client_requests_total"), { code: "200", method: "GET" })! > 0);
    assert.equal(seriesValue(metrics.get("kubernetes_build_info"), { git_version: "v1.37.0+dray" }), 1);
  }
  assert.equal(seriesValue(scheduler.get("scheduler_pending_pods"), { queue: "active" }), 0);
  assert.ok(seriesValue(controllers.get("workqueue_adds_total"), { name: "serviceaccount" })! > 0);
  const slis = await scrape(names[0], "/metrics/slis");
  assert.equal(seriesValue(slis.get("kubernetes_healthcheck"), { name: "ping", type: "readyz" }), 1);
});

test("Services that pods cannot reach any more go with the next start", async () => {
  await plane.stop();
  // Its pods have networks of their own, without the loopback address of the machine.
  plane = await startOn("oci");
  for (const name of names)
    for (const kind of [Service, Endpoints] as readonly Kind<Service | Endpoints>[])
      await assert.rejects(plane.admin.resource(kind).get({ namespace, name }), { code: 404 });
});
