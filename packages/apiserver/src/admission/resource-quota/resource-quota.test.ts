import assert from "node:assert/strict";
import { test } from "node:test";
import { type TestServer, testServer } from "../../testing/server.ts";

const namespace = "team";
const path = (resource: string): string => `/api/v1/namespaces/${namespace}/${resource}`;

/** A quota with its status, as the quota controller would have made it. */
async function quota(
  tested: TestServer,
  name: string,
  hard: Record<string, string>,
  more: object = {},
): Promise<void> {
  const made = await tested.call("POST", path("resourcequotas"), {
    body: { metadata: { name }, spec: { hard, ...more } },
  });
  assert.equal(made.status, 201, made.body.message);
  const used = Object.fromEntries(Object.keys(hard).map((key) => [key, "0"]));
  const status = await tested.call("PATCH", `${path("resourcequotas")}/${name}/status`, {
    body: { status: { hard, used } },
  });
  assert.equal(status.status, 200, status.body.message);
}

async function used(tested: TestServer, name: string): Promise<Record<string, string>> {
  return (await tested.call("GET", `${path("resourcequotas")}/${name}`)).body.status.used;
}

function pod(name: string, resources: object = {}, spec: object = {}): { body: object } {
  const containers = [{ name: "c", image: "i", resources }];
  return { body: { metadata: { name }, spec: { containers, ...spec } } };
}

async function server(): Promise<TestServer> {
  const tested = await testServer();
  await tested.namespace(namespace);
  return tested;
}

test("concurrent creates never take more than a quota allows, whoever else writes its status", async () => {
  const tested = await server();
  await quota(tested, "q", { pods: "10", "requests.cpu": "100" });
  const touch = async (round: number): Promise<void> => {
    const patch = { metadata: { annotations: { round: String(round) } } };
    await tested.call("PATCH", `${path("resourcequotas")}/q`, { body: patch });
  };
  const touched = Promise.all(Array.from({ length: 5 }, (_, index) => touch(index)));
  const answers = await Promise.all(
    Array.from({ length: 40 }, (_, index) =>
      tested.call("POST", path("pods"), pod(`p${index}`, { requests: { cpu: "100m" } })),
    ),
  );
  await touched;
  const created = answers.filter(({ status }) => status === 201);
  const refused = answers.filter(({ status }) => status === 403);
  assert.equal(created.length, 10);
  assert.equal(refused.length, 30);
  assert.match(
    refused[0]!.body.message,
    /^pods "p\d+" is forbidden: exceeded quota: q, requested: pods=1, used: pods=10, limited: pods=10$/,
  );
  assert.deepEqual(await used(tested, "q"), { pods: "10", "requests.cpu": "1" });
  assert.equal((await tested.call("GET", path("pods"))).body.items.length, 10);
  await tested.server.close();
});

test("a dry run is checked and not charged; every container must say what a quota restricts", async () => {
  const tested = await server();
  await quota(tested, "q", { pods: "1", "limits.memory": "1Gi" });
  const limits = { limits: { memory: "600Mi" } };
  const lacking = await tested.call("POST", path("pods"), pod("p"));
  assert.equal(
    lacking.body.message,
    'pods "p" is forbidden: failed quota: q: must specify limits.memory for: c',
  );
  assert.equal((await tested.call("POST", `${path("pods")}?dryRun=All`, pod("p", limits))).status, 201);
  assert.deepEqual(await used(tested, "q"), { pods: "0", "limits.memory": "0" });
  assert.equal((await tested.call("POST", path("pods"), pod("p", limits))).status, 201);
  assert.deepEqual(await used(tested, "q"), { pods: "1", "limits.memory": "600Mi" });
  const over = await tested.call("POST", path("pods"), pod("r", limits));
  assert.equal(
    over.body.message,
    'pods "r" is forbidden: exceeded quota: q, requested: limits.memory=600Mi,pods=1, used: limits.memory=600Mi,pods=1, limited: limits.memory=1Gi,pods=1',
  );
  await tested.server.close();
});

test("a quota counts init containers, sidecars and overhead as the scheduler does, and what is in its scopes", async () => {
  const tested = await server();
  const scopes = { scopes: ["NotTerminating"] };
  await quota(tested, "long", { "requests.cpu": "10" }, scopes);
  await quota(tested, "batch", { pods: "10" }, { scopes: ["Terminating"] });
  const requests = (cpu: string): object => ({ resources: { requests: { cpu } } });
  const spec = {
    initContainers: [
      { name: "side", image: "i", restartPolicy: "Always", ...requests("1") },
      { name: "init", image: "i", ...requests("3") },
    ],
  };
  assert.equal(
    (await tested.call("POST", path("pods"), pod("a", { requests: { cpu: "500m" } }, spec))).status,
    201,
  );
  assert.deepEqual(await used(tested, "long"), { "requests.cpu": "4" });
  const timed = { activeDeadlineSeconds: 60 };
  assert.equal((await tested.call("POST", path("pods"), pod("b", {}, timed))).status, 201);
  assert.deepEqual(await used(tested, "batch"), { pods: "1" });
  // A deadline given later moves the pod into the other quota.
  const patch = { body: { spec: timed } };
  assert.equal((await tested.call("PATCH", `${path("pods")}/a`, patch)).status, 200);
  assert.deepEqual(await used(tested, "batch"), { pods: "2" });
  await tested.server.close();
});

test("priority classes select by scope; services and volume claims are charged for what they take", async () => {
  const tested = await server();
  const scopeSelector = {
    matchExpressions: [
      { scopeName: "PriorityClass", operator: "NotIn", values: ["system-cluster-critical"] },
    ],
  };
  await quota(tested, "plain", { pods: "1" }, { scopeSelector });
  await quota(tested, "objects", {
    services: "2",
    "services.nodeports": "1",
    "requests.storage": "10Gi",
    "fast.storageclass.storage.k8s.io/persistentvolumeclaims": "1",
    "count/deployments.apps": "1",
    configmaps: "1",
  });
  const critical = { priorityClassName: "system-cluster-critical" };
  assert.equal((await tested.call("POST", path("pods"), pod("a"))).status, 201);
  assert.equal((await tested.call("POST", path("pods"), pod("b", {}, critical))).status, 201);
  assert.equal((await tested.call("POST", path("pods"), pod("c"))).status, 403);

  const service = (name: string, ports: number[], type = "NodePort"): object => ({
    body: {
      metadata: { name },
      spec: { type, ports: ports.map((port) => ({ name: `p${port}`, port })), selector: { a: "b" } },
    },
  });
  assert.equal((await tested.call("POST", path("services"), service("s", [80]))).status, 201);
  const second = await tested.call("POST", path("services"), service("t", [80]));
  assert.match(
    second.body.message,
    /requested: services.nodeports=1, used: services.nodeports=1, limited: services.nodeports=1$/,
  );
  assert.equal((await tested.call("POST", path("services"), service("t", [80], "ClusterIP"))).status, 201);

  const claim = (name: string, storage: string, storageClassName: string): object => ({
    body: {
      metadata: { name },
      spec: { accessModes: ["ReadWriteOnce"], storageClassName, resources: { requests: { storage } } },
    },
  });
  const claims = path("persistentvolumeclaims");
  assert.equal((await tested.call("POST", claims, claim("v", "4Gi", "fast"))).status, 201);
  assert.equal((await tested.call("POST", claims, claim("w", "1Gi", "fast"))).status, 403);
  assert.equal((await tested.call("POST", claims, claim("w", "7Gi", "slow"))).status, 403);
  assert.equal((await used(tested, "objects"))["requests.storage"], "4Gi");

  const map = (name: string): object => ({ body: { metadata: { name } } });
  assert.equal((await tested.call("POST", path("configmaps"), map("m"))).status, 201);
  assert.equal((await tested.call("POST", path("configmaps"), map("n"))).status, 403);
  await tested.server.close();
});

test("devices are charged by class: the most that a claim can get", async () => {
  const tested = await server();
  const gpu = "gpu.deviceclass.resource.k8s.io/devices";
  await tested.call("POST", "/apis/resource.k8s.io/v1/deviceclasses", {
    body: { metadata: { name: "gpu" }, spec: { extendedResourceName: "example.com/gpu" } },
  });
  await quota(tested, "q", { [gpu]: "6", "requests.example.com/gpu": "5" });
  const claims = `/apis/resource.k8s.io/v1/namespaces/${namespace}/resourceclaims`;
  const claim = (name: string, requests: object[]): object => ({
    body: { metadata: { name }, spec: { devices: { requests } } },
  });
  const choice = (name: string, count: number): object => ({ name, deviceClassName: "gpu", count });
  const first = [{ name: "r", firstAvailable: [choice("a", 4), choice("b", 2)] }];
  assert.equal((await tested.call("POST", claims, claim("c", first))).status, 201);
  assert.deepEqual(await used(tested, "q"), { [gpu]: "4", "requests.example.com/gpu": "4" });
  const more = await tested.call(
    "POST",
    claims,
    claim("d", [{ name: "r", exactly: { deviceClassName: "gpu", count: 2 } }]),
  );
  assert.equal(
    more.body.message,
    'resourceclaims.resource.k8s.io "d" is forbidden: exceeded quota: q, requested: requests.example.com/gpu=2, used: requests.example.com/gpu=4, limited: requests.example.com/gpu=5',
  );
  await tested.server.close();
});
