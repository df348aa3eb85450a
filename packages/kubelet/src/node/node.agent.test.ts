import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { featuresOf, parseFeatureGates } from "@dray/api";
import { Lease } from "@dray/api/coordination/v1";
import { Node, Pod, ServiceAccount } from "@dray/api/core/v1";
import { ResourceSlice } from "@dray/api/resource/v1";
import { createAuthority } from "@dray/apiserver/pki";
import { type Clock, systemClock } from "@dray/client";
import { skipClock } from "@dray/testing/clock";
import { eventuallyPasses } from "@dray/testing/eventually";
import { readExposition } from "@dray/testing/exposition";
import { freePorts } from "@dray/testing/ports";
import { formatCheckpoint, parseCheckpoint } from "../dra/checkpoint.ts";
import { hostRuntime, type RuntimeFactory } from "../index.ts";
import type { RuntimeService } from "../runtime/service.ts";
import { podBecomes, podOn, type TestCluster, testCluster } from "../testing/cluster.ts";
import { testDriver } from "../testing/driver.ts";

let cluster: TestCluster;
before(async () => {
  cluster = await testCluster();
  await cluster.admin
    .resource(ServiceAccount)
    .create({ metadata: { namespace: "default", name: "default" } });
});
after(() => cluster.close());

const slice = async (name: string, driver: string, node: string): Promise<void> => {
  await cluster.admin.resource(ResourceSlice).create({
    metadata: { name },
    spec: {
      driver,
      nodeName: node,
      pool: { name: node, generation: 1, resourceSliceCount: 1 },
      devices: [{ name: "gpu-0" }],
    },
  });
};
const slices = async (): Promise<string[]> =>
  (await cluster.admin.resource(ResourceSlice).list()).items.map(({ metadata }) => metadata.name);

test("the node registers with its endpoints, capacity and a lease", async () => {
  const kubelet = await cluster.node("n1", { labels: { zone: "a" }, capacity: { cpu: "2" } });
  const node = await cluster.admin.resource(Node).get({ name: "n1" });
  assert.equal(node.metadata.labels?.["kubernetes.io/hostname"], "n1");
  assert.equal(node.metadata.labels?.["zone"], "a");
  assert.equal(node.status?.daemonEndpoints?.kubeletEndpoint?.Port, kubelet.port);
  assert.equal(node.status?.allocatable?.["cpu"], "2");
  assert.equal(node.status?.conditions?.find(({ type }) => type === "Ready")?.status, "True");
  assert.match(node.status?.nodeInfo?.kubeletVersion ?? "", /^v1\.\d+/);
  const lease = await cluster.admin.resource(Lease).get({ namespace: "kube-node-lease", name: "n1" });
  assert.equal(lease.spec.holderIdentity, "n1");
});

test("a restarted agent keeps taints of its Node that others have changed", async () => {
  const taints = [{ key: "starting", effect: "NoSchedule" }];
  const nodes = cluster.admin.resource(Node);
  const own = async (): Promise<(string | undefined)[]> =>
    ((await nodes.get({ name: "n8" })).spec.taints ?? [])
      .map(({ key }) => key)
      .filter((key) => !key.startsWith("node.kubernetes.io/"));
  const kubelet = await cluster.node("n8", { taints });
  assert.deepEqual(await own(), ["starting"]);
  await nodes.patch({ name: "n8" }, "merge", { spec: { taints: [{ key: "other", effect: "NoSchedule" }] } });
  await kubelet.stop({ leavePods: false });
  await cluster.node("n8", { taints });
  assert.deepEqual(await own(), ["other"]);
});

test("health and metrics are served over HTTP if configured", async () => {
  const [healthzPort = 0, readOnlyPort = 0] = await freePorts(2);
  const kubelet = await cluster.node("n7", {
    healthzPort,
    readOnlyPort,
    clientMetrics: {
      text: () => "# TYPE rest_client_requests_total counter\nrest_client_requests_total 3\n",
    },
    clientCertificate: (await createAuthority("test", Date.now() - 3640 * 86_400_000)).certificate,
  });
  const get = async (port: number, path: string, method = "GET"): Promise<[number, string]> => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { method });
    return [response.status, await response.text()];
  };
  assert.deepEqual(await get(healthzPort, "/healthz"), [200, "ok"]);
  assert.deepEqual(await get(healthzPort, "/metrics"), [404, "404 page not found\n"]);
  assert.match((await get(readOnlyPort, "/metrics"))[1], /^kubelet_running_pods 0$/m);
  assert.match((await get(readOnlyPort, "/metrics"))[1], /^rest_client_requests_total 3$/m);
  assert.equal((await get(readOnlyPort, "/metrics", "POST"))[0], 405);
  const metrics = readExposition((await get(readOnlyPort, "/metrics"))[1]);
  const daysLeft = (side: string): number =>
    (metrics.get(`kubelet_certificate_manager_${side}_ttl_seconds`)?.samples[0]?.value ?? 0) / 86_400;
  assert.deepEqual([Math.round(daysLeft("client")), Math.round(daysLeft("server"))], [10, 365]);
  await kubelet.stop({ leavePods: false });
  await assert.rejects(get(healthzPort, "/healthz"));
});

/** The host runtime with overrides. */
function runtimeWith(more: Partial<RuntimeService>): RuntimeFactory {
  const inner = hostRuntime({ images: [], isolation: "plain" });
  return (node) => {
    const runtime = inner(node);
    return { ...runtime, service: Object.assign(runtime.service, more) };
  };
}

test("a node whose runtime makes the network of pods names their addresses, once", async () => {
  const nodes = cluster.admin.resource(Node);
  const cidr = async () => (await nodes.get({ name: "n9" })).spec;
  for (const [podCidr, expected] of [
    [undefined, undefined],
    ["10.9.2.0/23", "10.9.2.0/23"],
    ["10.8.2.0/23", "10.9.2.0/23"],
  ] as const) {
    const network = podCidr === undefined ? undefined : { podCidr };
    const kubelet = await cluster.node("n9", { runtime: runtimeWith({ network }) });
    assert.equal((await cidr())?.podCIDR, expected);
    assert.deepEqual((await cidr())?.podCIDRs, expected && [expected]);
    await kubelet.stop({ leavePods: false });
  }
});

test("a node is not ready while its runtime says why, and as long as that does not answer", async () => {
  const clock = skipClock();
  let problems: readonly string[] | Error = ["a"];
  const kubelet = await cluster.node("n10", {
    clock,
    runtime: runtimeWith({
      problems: async () => {
        if (problems instanceof Error) throw problems;
        return problems;
      },
    }),
  });
  const ready = async (): Promise<string> => {
    const { status } = await cluster.admin.resource(Node).get({ name: "n10" });
    const condition = status?.conditions?.find(({ type }) => type === "Ready");
    return `${condition?.status} ${condition?.reason} ${condition?.message}`;
  };
  assert.equal(await ready(), "False KubeletNotReady a");
  for (const [next, expected] of [
    [["a", "b"], "False KubeletNotReady [a, b]"],
    [[], "True KubeletReady kubelet is posting ready status"],
  ] as const) {
    problems = next;
    clock.skip(5000);
    await eventuallyPasses(async () => assert.equal(await ready(), expected));
  }
  problems = new Error("no answer");
  clock.skip(5000);
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.match(await ready(), /^True/);
  clock.skip(30_000);
  await eventuallyPasses(async () =>
    assert.equal(await ready(), "False KubeletNotReady container runtime is down"),
  );
  await kubelet.stop({ leavePods: false });
});

test("the node declares the features that pods may need, by release and gate", async () => {
  const restartAll = "RestartAllContainersOnContainerExits";
  for (const [name, version, gates, declared] of [
    ["n5", "1.37", "DRAOptionalNodeOperations=true", ["DRAOptionalNodeOperations", restartAll]],
    ["n6", "1.37", "", [restartAll]],
    ["old", "1.35", "", undefined],
  ] as const) {
    await cluster.node(name, { features: featuresOf(version, parseFeatureGates(gates)) });
    const node = await cluster.admin.resource(Node).get({ name });
    assert.deepEqual(node.status?.declaredFeatures, declared);
  }
});

test("a Ready condition that became Unknown is written again, and a node that was deleted registers again", async () => {
  const quick: Clock = {
    now: systemClock.now,
    after: (milliseconds, run) => systemClock.after(milliseconds === 10_000 ? 30 : milliseconds, run),
  };
  await cluster.node("n4", { clock: quick });
  const nodes = cluster.admin.resource(Node);
  const ready = async () =>
    (await nodes.get({ name: "n4" })).status?.conditions?.find(({ type }) => type === "Ready")?.status;
  const unknown = { type: "Ready", status: "Unknown", reason: "NodeStatusUnknown" };
  const lapsed = await nodes.patch(
    { name: "n4" },
    "strategic",
    { status: { conditions: [unknown] } },
    { subresource: "status" },
  );
  assert.equal(lapsed.status?.conditions?.find(({ type }) => type === "Ready")?.status, "Unknown");
  await eventuallyPasses(async () => assert.equal(await ready(), "True"));

  const lease = { namespace: "kube-node-lease", name: "n4" };
  for (const withLease of [false, true]) {
    await nodes.delete({ name: "n4" });
    if (withLease) await cluster.admin.resource(Lease).delete(lease);
    await eventuallyPasses(async () => {
      const { metadata } = await nodes.get({ name: "n4" });
      assert.notEqual(metadata.uid, lapsed.metadata.uid);
      assert.equal(await ready(), "True");
      const { ownerReferences } = (await cluster.admin.resource(Lease).get(lease)).metadata;
      assert.equal(ownerReferences?.[0]?.uid, metadata.uid);
    });
  }
});

test("slices go when the agent starts, and when their driver has been away for half a minute", async (t) => {
  const absences = new Set<() => void>();
  const clock: Clock = {
    now: systemClock.now,
    after(milliseconds, run) {
      if (milliseconds !== 30_000) return systemClock.after(milliseconds, run);
      absences.add(run);
      return () => absences.delete(run);
    },
  };
  const halfAMinute = (): void => {
    for (const run of absences) run();
    absences.clear();
  };
  await slice("stale", "gpu.example.com", "n2");
  await slice("other", "gpu.example.com", "n1");
  await cluster.node("n2", { clock });
  assert.deepEqual(await slices(), ["other"]);
  const start = async (): ReturnType<typeof testDriver> => {
    const driver = await testDriver(cluster.rootDir("n2"), "gpu.example.com");
    t.after(driver.close);
    await eventuallyPasses(async () => assert.equal(driver.registered.length, 1));
    return driver;
  };
  const first = await start();
  await slice("fresh", "gpu.example.com", "n2");
  await first.close();
  await eventuallyPasses(async () => assert.equal(absences.size, 1));
  const second = await start();
  await eventuallyPasses(async () => assert.equal(absences.size, 0, "it came back in time"));
  await second.close();
  await eventuallyPasses(async () => assert.equal(absences.size, 1));
  assert.deepEqual(await slices(), ["fresh", "other"]);
  halfAMinute();
  await eventuallyPasses(async () => assert.deepEqual(await slices(), ["other"]));
});

test("a pod that does not fit is refused, and a deadline ends one", async () => {
  await cluster.admin.resource(Pod).create(
    podOn("n1", "large", {
      containers: [{ name: "main", command: ["true"], resources: { requests: { cpu: "3" } } }],
    }),
  );
  const large = await podBecomes(
    cluster.admin,
    { namespace: "default", name: "large" },
    (p) => p.status?.phase === "Failed",
  );
  assert.equal(large.status?.reason, "OutOfcpu");
  assert.match(large.status?.message ?? "", /requested: 3000, used: 0, capacity: 2000/);
  await cluster.admin.resource(Pod).create(
    podOn("n1", "short", {
      activeDeadlineSeconds: 1,
      containers: [{ name: "main", command: ["sleep", "1000"] }],
    }),
  );
  const short = await podBecomes(
    cluster.admin,
    { namespace: "default", name: "short" },
    (p) => p.status?.phase === "Failed",
  );
  assert.equal(short.status?.reason, "DeadlineExceeded");
});

test("a root that is too long for sockets or cannot be made, and a damaged checkpoint, are refused with what to do", async () => {
  await assert.rejects(
    cluster.node("a-name-that-is-much-too-long-for-the-path-of-a-socket"),
    /rootDir .* is too long.*at most 44 bytes/,
  );
  await assert.rejects(cluster.node("n3", { rootDir: "/proc/dray" }), /ENOENT: .*'\/proc\/dray'/);
  const file = join(cluster.rootDir("n3"), "var/lib/kubelet/dra_manager_state");
  mkdirSync(join(file, ".."), { recursive: true });
  writeFileSync(file, '{"Data":"{}","Checksum":1}');
  await assert.rejects(cluster.node("n3"), /dra_manager_state is damaged: its checksum is wrong; remove it/);
});

test("the checkpoint has the kubelet's own format", () => {
  const empty =
    '{"kind":"DRACheckpoint","apiVersion":"checkpoint.dra.kubelet.k8s.io/v1","ClaimInfoStateList":[]}';
  assert.deepEqual(JSON.parse(formatCheckpoint([])), { Data: empty, Checksum: 2361995144 });
  assert.deepEqual(parseCheckpoint(formatCheckpoint([])), []);
});
