import assert from "node:assert/strict";
import { request } from "node:https";
import { after, before, test } from "node:test";
import { Pod, ServiceAccount } from "@dray/api/core/v1";
import { eventuallyPasses } from "@dray/testing/eventually";
import { readExposition } from "@dray/testing/exposition";
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
          details: {
            memory: { usage: 7 << 20, rss: 4 << 20, cache: 2 << 20, swap: 0 },
            throttling: { periods: 9, throttledPeriods: 3, throttledNanoseconds: 5e8 },
            disks: [{ device: "0:0", readBytes: 1, writtenBytes: 2, reads: 3, writes: 4 }],
          },
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
          resources: { limits: { cpu: "500m", memory: "64Mi" } },
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

test("/metrics/cadvisor has the machine, pods and containers with the labels of upstream", async () => {
  used = 9;
  const read = readExposition(await get("/metrics/cadvisor"));
  const rows = (name: string, labels: Record<string, string>) =>
    (read.get(name)?.samples ?? []).filter((sample) =>
      Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
    );
  const ofPod = { namespace: "default", pod: "busy" };
  const ofMain = { ...ofPod, container: "main" };
  const [main] = rows("container_cpu_usage_seconds_total", ofMain);
  assert.ok(main !== undefined);
  const { id = "", image = "", name = "" } = main.labels;
  assert.deepEqual([main.value, main.at, main.labels["cpu"]], [9, 1_700_000_009_250, "total"]);
  assert.equal(id, `/kubepods/burstable/pod${uid}/${name}`);
  assert.ok(name !== "" && image !== "", "queries of dashboards select containers by their image");
  assert.equal(rows("container_cpu_usage_seconds_total", { ...ofPod, container: "" })[0]?.value, 18);
  assert.ok(rows("container_cpu_usage_seconds_total", { id: "/" })[0]!.value > 0);
  for (const [metric, value] of [
    ["container_memory_working_set_bytes", 5 << 20],
    ["container_memory_usage_bytes", 7 << 20],
    ["container_memory_rss", 4 << 20],
    ["container_memory_cache", 2 << 20],
    ["container_memory_swap", 0],
    ["container_cpu_cfs_periods_total", 9],
    ["container_cpu_cfs_throttled_periods_total", 3],
    ["container_cpu_cfs_throttled_seconds_total", 0.5],
    ["container_spec_memory_limit_bytes", 64 << 20],
    ["container_spec_cpu_quota", 50_000],
  ] as const)
    assert.equal(rows(metric, ofMain)[0]?.value, value, metric);
  // Without a limit nothing holds a container back.
  const ofSide = { ...ofPod, container: "side" };
  assert.deepEqual(rows("container_cpu_cfs_periods_total", ofSide), []);
  assert.equal(rows("container_spec_memory_limit_bytes", ofSide)[0]?.value, 0);
  assert.equal(rows("container_fs_writes_bytes_total", { ...ofMain, device: "0:0" })[0]?.value, 2);
  // Pods of this runtime are in the network of the machine.
  assert.deepEqual(rows("container_network_receive_bytes_total", ofPod), []);
  assert.ok(rows("machine_memory_bytes", {})[0]!.value > 0);
});

test("/metrics/slis has the checks of the agent", async () => {
  const { samples = [] } = readExposition(await get("/metrics/slis")).get("kubernetes_healthcheck") ?? {};
  assert.deepEqual(
    samples.map(({ labels, value }) => [labels["name"], labels["type"], value]),
    ["ping", "log", "syncloop"].map((name) => [name, "healthz", 1]),
  );
  assert.equal(await get("/healthz"), "ok");
});

test("/metrics has the work of the agent", async () => {
  const read = readExposition(await get("/metrics"));
  const of = (name: string, labels: Record<string, string> = {}): number | undefined =>
    read
      .get(name.replace(/_count$/, ""))
      ?.samples.find(
        (sample) =>
          sample.name === name &&
          Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
      )?.value;
  assert.equal(of("kubelet_node_name", { node: "n1" }), 1);
  assert.equal(of("kubelet_running_pods"), 1);
  assert.equal(of("kubelet_running_containers", { container_state: "running" }), 2);
  assert.equal(of("kubelet_started_pods_total"), 1);
  assert.equal(of("kubelet_runtime_operations_total", { operation_type: "start_container" }), 2);
  assert.equal(
    of("kubelet_runtime_operations_duration_seconds_count", { operation_type: "run_podsandbox" }),
    1,
  );
  assert.equal(of("kubelet_pod_worker_duration_seconds_count", { operation_type: "create" }), 1);
  assert.equal(of("kubelet_pod_start_duration_seconds_count"), 1);
  const mounts = {
    operation_name: "volume_mount",
    volume_plugin: "kubernetes.io/empty-dir",
    status: "success",
  };
  assert.equal(of("storage_operation_duration_seconds_count", mounts), 1);
  for (const state of ["desired_state_of_world", "actual_state_of_world"])
    assert.equal(of("volume_manager_total_volumes", { plugin_name: "kubernetes.io/empty-dir", state }), 1);
  assert.ok(of("process_resident_memory_bytes")! > 1 << 20);
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
