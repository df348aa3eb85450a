import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { eventually } from "@dray/testing/eventually";
import { startCluster, type TestCluster, withoutKubectl } from "./harness.ts";

/** The real `kubectl top` on a cluster in which nobody has installed anything. */
describe("kubectl top", { skip: withoutKubectl }, () => {
  let cluster: TestCluster;
  before(async () => {
    cluster = await startCluster("--nodes", "1", "--store", "memory");
  });
  after(() => cluster?.down());

  const rows = (text: string): string[][] =>
    text
      .trim()
      .split("\n")
      .map((line) => line.split(/ +/));

  test("node: on the first request", async () => {
    const [head, node] = rows(await cluster.kubectl("top", "node"));
    assert.equal(head?.[0], "NAME");
    assert.equal(node?.[0], "worker-1");
    assert.match(`${node?.[1]} ${node?.[3]}`, /^\d+m \d+Mi$/);
  });

  test("metrics of the node through the API server", async () => {
    const metrics = await cluster.kubectl("get", "--raw", "/api/v1/nodes/worker-1/proxy/metrics");
    for (const name of [
      "kubelet_running_pods",
      "dra_resource_claims_in_use",
      "dra_operations_duration_seconds",
      "dra_grpc_operations_duration_seconds",
      "kubelet_device_plugin_registration_total",
      "kubelet_device_plugin_alloc_duration_seconds",
      "kubelet_pod_resources_endpoint_requests_total",
    ])
      assert.match(metrics, new RegExp(`^# TYPE ${name} `, "m"));
    const resource = await cluster.kubectl("get", "--raw", "/api/v1/nodes/worker-1/proxy/metrics/resource");
    assert.match(resource, /^node_cpu_usage_seconds_total [\d.]+ \d+$/m);
  });

  test("pod: the usage of containers, also for users who may only read", async (t) => {
    const limits = "the machine does not let this process count what containers use (cgroups)";
    await cluster.kubectl(
      ...["run", "busy", "--image=busybox:1.37", "--labels=app=busy", "--command", "--"],
      ...["sh", "-c", "while :; do :; done"],
    );
    await cluster.kubectl("wait", "pod/busy", "--for=condition=Ready", "--timeout=60s");
    const summary = await cluster.kubectl("get", "--raw", "/api/v1/nodes/worker-1/proxy/stats/summary");
    if (JSON.parse(summary).pods.length === 0) return t.skip(limits);
    // Two readings are five seconds apart.
    const found = await eventually("numbers of the pod", async () => {
      const { code, stdout } = await cluster.tryKubectl(["top", "pod", "--containers", "-l", "app=busy"]);
      return code === 0 && rows(stdout)[1];
    });
    const [pod, container, cpu = "", memory = ""] = found as string[];
    assert.deepEqual([pod, container], ["busy", "busy"]);
    assert.ok(Number.parseInt(cpu, 10) > 50, `a loop uses a CPU, or what others leave of it: ${cpu}`);
    assert.match(memory, /^\d+Mi$/);
    assert.match(await cluster.kubectl("top", "pod", "busy", "-n", "default"), /busy +\d+m/);
    const none = await cluster.tryKubectl(["top", "pod", "nobody"]);
    assert.match(none.stderr, /pods "nobody" not found/);
    const reader = ["--as=reader", "--as-group=system:authenticated"];
    assert.match((await cluster.tryKubectl(["top", "pod", ...reader])).stderr, /forbidden/);
    await cluster.kubectl("create", "rolebinding", "reader", "--clusterrole=view", "--user=reader");
    assert.match(await cluster.kubectl("top", "pod", ...reader), /busy/);
  });
});
