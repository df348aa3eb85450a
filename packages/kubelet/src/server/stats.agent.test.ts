import assert from "node:assert/strict";
import { request } from "node:https";
import { after, before, test } from "node:test";
import { Pod, ServiceAccount } from "@dray/api/core/v1";
import { eventuallyPasses } from "@dray/testing/eventually";
import { hostRuntime, type Kubelet } from "../index.ts";
import type { NodeRuntime } from "../runtime/service.ts";
import { podBecomes, podOn, type TestCluster, testCluster } from "../testing/cluster.ts";

let cluster: TestCluster;
let node: Kubelet;
let uid = "";
/** CPU time of the containers in seconds. */
let used = 3;
before(async () => {
  cluster = await testCluster();
  const account = { metadata: { namespace: "default", name: "default" } };
  await cluster.admin.resource(ServiceAccount).create(account);
  node = await cluster.node("n1", {
    runtime: (surroundings): NodeRuntime => {
      const made = hostRuntime({ images: [] })(surroundings);
      // As runtimes with cgroups do.
      made.service.listContainerStats = async () =>
        (await made.service.listContainers()).map(({ id }) => ({
          containerId: id,
          at: 1_700_000_000_250 + used * 1000,
          cpuNanoseconds: used * 1e9,
          memoryWorkingSetBytes: 5 << 20,
        }));
      return made;
    },
  });
  const readinessProbe = { exec: { command: ["true"] }, periodSeconds: 1 };
  await cluster.admin.resource(Pod).create(
    podOn("n1", "busy", {
      volumes: [{ name: "data", emptyDir: {} }],
      containers: [
        {
          name: "main",
          command: ["bash", "-c", 'head -c 1M /dev/zero >"$0"; exec sleep 1000', "/data-of-busy/x"],
          volumeMounts: [{ name: "data", mountPath: "/data-of-busy" }],
          readinessProbe,
        },
        { name: "side", command: ["sleep", "1000"] },
      ],
    }),
  );
  const ready = (pod: Pod): boolean => pod.status?.containerStatuses?.every((one) => one.ready) === true;
  const pod = await podBecomes(cluster.admin, { namespace: "default", name: "busy" }, ready);
  uid = pod.metadata.uid;
});
after(() => cluster.close());

function get(path: string): Promise<string> {
  const options = { host: "127.0.0.1", port: node.port, path, ca: cluster.authority.certificate };
  return new Promise((resolve, reject) => {
    const call = request({ ...options, ...cluster.clientCertificate }, async (response) => {
      const text = Buffer.concat(await response.toArray()).toString("utf8");
      if (response.statusCode === 200) resolve(text);
      else reject(new Error(`${response.statusCode} ${text}`));
    });
    call.on("error", reject).end();
  });
}

test("/stats/summary: node, pods and containers, with rates from the second look on", async () => {
  const first = JSON.parse(await get("/stats/summary"));
  assert.equal(first.node.nodeName, "n1");
  assert.ok(first.node.memory.workingSetBytes > 0 && first.node.fs.capacityBytes > first.node.fs.usedBytes);
  const [pod] = first.pods;
  assert.deepEqual(pod.podRef, { name: "busy", namespace: "default", uid });
  assert.equal(pod.cpu.usageNanoCores, undefined);
  assert.equal(pod.cpu.usageCoreNanoSeconds, 6e9);
  assert.equal(pod.memory.workingSetBytes, 10 << 20);
  await eventuallyPasses(async () => {
    const [now] = JSON.parse(await get("/stats/summary")).pods;
    assert.equal(now.volume[0].name, "data");
    assert.ok(now.volume[0].usedBytes >= 1 << 20 && now["ephemeral-storage"].usedBytes >= 1 << 20);
  });
  used = 5;
  const [second] = JSON.parse(await get("/stats/summary?only_cpu_and_memory=true")).pods;
  // Two seconds of CPU time in two seconds, twice.
  assert.equal(second.cpu.usageNanoCores, 2e9);
  assert.equal(second.containers[0].cpu.usageNanoCores, 1e9);
  assert.equal(second.volume, undefined);
});

test("/metrics/resource is what the metrics server reads", async () => {
  used = 7;
  const lines = (await get("/metrics/resource")).split("\n");
  const at = 1_700_000_007_250;
  for (const line of [
    "# TYPE container_cpu_usage_seconds_total counter",
    `container_cpu_usage_seconds_total{container="main",namespace="default",pod="busy"} 7 ${at}`,
    `container_memory_working_set_bytes{container="side",namespace="default",pod="busy"} ${5 << 20} ${at}`,
    `pod_cpu_usage_seconds_total{namespace="default",pod="busy"} 14 ${at}`,
    "resource_scrape_error 0",
  ])
    assert.ok(lines.includes(line), `${line} in ${lines.join("\n")}`);
  assert.ok(lines.some((line) => /^node_cpu_usage_seconds_total [0-9.]+ \d+$/.test(line)));
});

test("/metrics has those of claims, drivers and the pod resources API", async () => {
  const lines = (await get("/metrics")).split("\n");
  assert.ok(lines.includes('dra_resource_claims_in_use{driver_name="<any>"} 0'));
  assert.ok(lines.includes('kubelet_pod_resources_endpoint_requests_total{server_api_version="v1"} 0'));
});

test("/metrics/probes counts what probes find", async () => {
  const text = await get("/metrics/probes");
  const labels = `container="main",namespace="default",pod="busy",pod_uid="${uid}",probe_type="Readiness"`;
  assert.match(text, new RegExp(`^prober_probe_total\\{${labels},result="successful"\\} [1-9]`, "m"));
  assert.match(text, /^prober_probe_duration_seconds_bucket\{.*le="\+Inf"\} [1-9]/m);
});

test("/configz says how the agent works", async () => {
  const { kubeletconfig } = JSON.parse(await get("/configz"));
  assert.equal(kubeletconfig.containerLogMaxSize, String(10 << 20));
  assert.equal(kubeletconfig.clusterDomain, "cluster.local");
});
