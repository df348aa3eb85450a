import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { Lease } from "@dray/api/coordination/v1";
import { Event, Node, Pod } from "@dray/api/core/v1";
import { ResourceClaim } from "@dray/api/resource/v1";
import { eventuallyPasses } from "@dray/testing/eventually";
import { podOn } from "../testing/cluster.ts";
import { type SimulatedCluster, simulatedCluster } from "../testing/simulated.ts";
import { exitCodeAnnotation, runsForAnnotation, simulatedLabel } from "./index.ts";

let cluster: SimulatedCluster;
beforeEach(async () => {
  cluster = await simulatedCluster();
});
afterEach(() => cluster.close());

const names = (count: number) => Array.from({ length: count }, (_, i) => ({ name: `s-${i}` }));
const containers = [{ name: "main" }];
const phase = (wanted: string) => (pod: Pod) => pod.status?.phase === wanted;
const annotated = (annotations: Record<string, string>, name: string, spec: object = {}) => {
  const pod = podOn("s-0", name, { containers, ...spec });
  return { ...pod, metadata: { ...pod.metadata, annotations } };
};
const leases = async () => (await cluster.admin.resource(Lease).list({ namespace: "kube-node-lease" })).items;
const deleteNow = (name: string) =>
  cluster.admin.resource(Pod).delete({ namespace: "default", name }, { gracePeriodSeconds: 30 });
const isGone = (name: string) =>
  eventuallyPasses(() =>
    assert.rejects(cluster.admin.resource(Pod).get({ namespace: "default", name }), { reason: "NotFound" }),
  );

test("a node registers its capacity and that it is simulated in one request", async () => {
  const labels = { zone: "a", "kubernetes.io/arch": "arm64" };
  await cluster.simulate([{ name: "s-0", labels, capacity: { cpu: "8" } }]);
  const { metadata, status } = await cluster.node("s-0");
  assert.equal(metadata.labels?.[simulatedLabel], "true");
  assert.equal(metadata.labels?.["zone"], "a");
  assert.equal(metadata.labels?.["kubernetes.io/hostname"], "s-0");
  assert.match(metadata.annotations?.[simulatedLabel] ?? "", /No containers run here/);
  assert.deepEqual(
    [status?.capacity?.["cpu"], status?.allocatable?.["cpu"], status?.capacity?.["pods"]],
    ["8", "8", "110"],
  );
  assert.equal(status?.nodeInfo?.architecture, "arm64");
  assert.equal(status?.conditions?.find(({ type }) => type === "Ready")?.status, "True");
  assert.deepEqual(Object.fromEntries(cluster.takeRequests()), { "create nodes": 1 });
});

test("leases are renewed every 40 seconds, spread over them, with one write each", async () => {
  await cluster.simulate(names(80));
  await cluster.pass(41_000);
  assert.equal((await leases()).length, 80);
  const { ownerReferences = [] } = (await leases())[0]!.metadata;
  assert.equal(ownerReferences[0]?.kind, "Node");
  cluster.takeRequests();
  for (let second = 0; second < 40; second++) {
    await cluster.pass(1000);
    assert.deepEqual(Object.fromEntries(cluster.takeRequests()), { "patch leases": 2 }, `second ${second}`);
  }
  const now = cluster.clock.now();
  for (const { spec } of await leases()) assert.ok(now - Date.parse(spec.renewTime ?? "") <= 40_000);
});

test("leases that could not be renewed are renewed a second later; a deleted one is created", async () => {
  await cluster.simulate(names(1));
  await cluster.pass(41_000);
  await cluster.admin.resource(Lease).delete({ namespace: "kube-node-lease", name: "s-0" });
  await cluster.pass(40_000);
  assert.equal((await leases()).length, 1);
});

test("a node that was deleted comes back, with a lease that belongs to it", async () => {
  await cluster.simulate(names(1));
  await cluster.pass(41_000);
  const { uid } = (await cluster.node("s-0")).metadata;
  await cluster.admin.resource(Node).delete({ name: "s-0" });
  const again = await eventuallyPasses(async () => {
    const node = await cluster.node("s-0");
    assert.notEqual(node.metadata.uid, uid);
    return node;
  });
  await cluster.pass(41_000);
  assert.equal((await leases())[0]?.metadata.ownerReferences?.[0]?.uid, again.metadata.uid);
});

test("a node that was given up says again that it is ready", async () => {
  await cluster.simulate(names(1));
  const conditions = [{ type: "Ready", status: "Unknown", reason: "NodeStatusUnknown", message: "gone" }];
  await cluster.admin
    .resource(Node)
    .patch({ name: "s-0" }, "strategic", { status: { conditions } }, { subresource: "status" });
  await eventuallyPasses(async () => {
    const { status } = await cluster.node("s-0");
    assert.equal(status?.conditions?.find(({ type }) => type === "Ready")?.status, "True");
  });
});

test("a node of that name that runs containers is left alone, and its pods are", async () => {
  await cluster.admin.resource(Node).create({ metadata: { name: "s-0" }, spec: {} });
  await cluster.simulate(names(2));
  await cluster.admin.resource(Pod).create(podOn("s-0", "theirs", { containers }));
  await cluster.admin.resource(Pod).create(podOn("s-1", "ours", { containers }));
  await cluster.pod("ours", phase("Running"));
  assert.equal((await cluster.node("s-0")).status?.conditions, undefined);
  assert.equal((await cluster.pod("theirs", () => true)).status?.phase, "Pending");
  assert.match(cluster.complaints.join("\n"), /exists without the label dray.dev\/simulated/);
});

test("pods run with addresses of their own, init containers succeed, and one write says it all", async () => {
  await cluster.simulate(names(1));
  cluster.takeRequests();
  const spec = { containers, initContainers: [{ name: "init" }, { name: "side", restartPolicy: "Always" }] };
  await cluster.admin.resource(Pod).create(podOn("s-0", "a", spec));
  await cluster.admin.resource(Pod).create(podOn("s-0", "b", { containers, hostNetwork: true }));
  const [a, b] = [await cluster.pod("a", phase("Running")), await cluster.pod("b", phase("Running"))];
  assert.equal(a.status?.podIP, "100.64.0.1");
  assert.equal(b.status?.podIP, "127.0.0.1");
  assert.deepEqual(
    a.status?.conditions?.map(({ type, status }) => `${type}=${status}`),
    ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"].map(
      (type) => `${type}=True`,
    ),
  );
  const [init, side] = a.status?.initContainerStatuses ?? [];
  assert.equal(init?.state?.terminated?.reason, "Completed");
  assert.ok(side?.state?.running && side.ready);
  assert.match(a.status?.containerStatuses?.[0]?.containerID ?? "", /^simulated:\/\//);
  assert.deepEqual(Object.fromEntries(cluster.takeRequests()), { "patch pods": 2 });
});

test("a deleted pod ends, says so, and is removed; its address is not given out at once", async () => {
  await cluster.simulate(names(1));
  await cluster.admin.resource(Pod).create(podOn("s-0", "a", { containers }));
  await cluster.pod("a", phase("Running"));
  await deleteNow("a");
  await isGone("a");
  await cluster.admin.resource(Pod).create(podOn("s-0", "b", { containers }));
  assert.equal((await cluster.pod("b", phase("Running"))).status?.podIP, "100.64.0.2");
});

test("annotations say how long a pod runs and how it ends; the pods of Jobs run for a second", async () => {
  await cluster.simulate(names(1));
  const pods = cluster.admin.resource(Pod);
  const never = { restartPolicy: "Never" };
  await pods.create(annotated({ [runsForAnnotation]: "30s" }, "good", never));
  await pods.create(annotated({ [runsForAnnotation]: "30s", [exitCodeAnnotation]: "3" }, "bad", never));
  const ofJob = annotated({}, "job", never);
  const owner = { apiVersion: "batch/v1", kind: "Job", name: "j", uid: "u", controller: true };
  await pods.create({ ...ofJob, metadata: { ...ofJob.metadata, ownerReferences: [owner] } });
  await cluster.pod("job", phase("Running"));
  await cluster.pass(1000);
  await cluster.pod("job", phase("Succeeded"));
  await cluster.pass(28_000);
  await cluster.pod("good", phase("Running"));
  await cluster.pass(1000);
  await cluster.pod("good", phase("Succeeded"));
  const { status } = await cluster.pod("bad", phase("Failed"));
  assert.deepEqual(status?.containerStatuses?.[0]?.state?.terminated?.exitCode, 3);
});

test("containers that end are started again as the policy says, with the back-off of kubelets", async () => {
  await cluster.simulate(names(1));
  await cluster.admin.resource(Pod).create(annotated({ [runsForAnnotation]: "5s" }, "a"));
  const restarts = (count: number, state: "running" | "waiting") => (pod: Pod) => {
    const status = pod.status?.containerStatuses?.[0];
    return Number(status?.restartCount) === count && status?.state?.[state] !== undefined;
  };
  await cluster.pod("a", restarts(0, "running"));
  await cluster.pass(5000);
  await cluster.pod("a", restarts(1, "running"));
  await cluster.pass(5000);
  const { status } = await cluster.pod("a", restarts(1, "waiting"));
  assert.equal(status?.containerStatuses?.[0]?.state?.waiting?.reason, "CrashLoopBackOff");
  await cluster.pass(10_000);
  await cluster.pod("a", restarts(2, "running"));
});

test("a pod that may be active for some time only fails after it", async () => {
  await cluster.simulate(names(1));
  await cluster.admin.resource(Pod).create(podOn("s-0", "a", { containers, activeDeadlineSeconds: 10 }));
  await cluster.pod("a", phase("Running"));
  await cluster.pass(10_000);
  assert.equal((await cluster.pod("a", phase("Failed"))).status?.reason, "DeadlineExceeded");
});

test("malformed annotations keep the containers from starting; the message names the accepted form", async () => {
  await cluster.simulate(names(1));
  const pods = cluster.admin.resource(Pod);
  await pods.create(annotated({ [runsForAnnotation]: "2 sec" }, "a"));
  await pods.create(annotated({ [exitCodeAnnotation]: "256" }, "b"));
  const message = async (name: string) => {
    const isWaiting = ({ status }: Pod) => status?.containerStatuses?.[0]?.state?.waiting !== undefined;
    const { status } = await cluster.pod(name, isWaiting);
    return status?.containerStatuses?.[0]?.state?.waiting;
  };
  assert.deepEqual(await message("a"), {
    reason: "CreateContainerConfigError",
    message: 'annotation dray.dev/runs-for: "2 sec" must be a duration such as 500ms, 30s or 1h30m',
  });
  assert.match((await message("b"))?.message ?? "", /"256" must be a whole number from 0 to 255/);
  const annotations = { [runsForAnnotation]: "2s" };
  await pods.patch({ namespace: "default", name: "a" }, "merge", { metadata: { annotations } });
  await cluster.pod("a", phase("Running"));
});

test("a pod that does not fit on its node is refused", async () => {
  await cluster.simulate([{ name: "s-0", capacity: { pods: "1" } }]);
  await cluster.admin.resource(Pod).create(podOn("s-0", "a", { containers }));
  await cluster.pod("a", phase("Running"));
  await cluster.admin.resource(Pod).create(podOn("s-0", "b", { containers }));
  assert.equal((await cluster.pod("b", phase("Failed"))).status?.reason, "OutOfpods");
});

test("a pod runs once its claims are allocated and reserved for it, and says meanwhile what is missing", async () => {
  await cluster.simulate(names(1));
  const { admin } = cluster;
  const claims = admin.resource(ResourceClaim);
  const ref = { namespace: "default", name: "c" };
  await claims.create({
    metadata: ref,
    spec: { devices: { requests: [{ name: "gpu", exactly: { deviceClassName: "gpu" } }] } },
  });
  const resourceClaims = [{ name: "gpu", resourceClaimName: "c" }];
  const pod = await admin.resource(Pod).create(podOn("s-0", "a", { containers, resourceClaims }));
  // The watches may be behind each other: no event at once.
  await cluster.pass(500);
  assert.equal((await cluster.pod("a", () => true)).status?.containerStatuses, undefined);
  await cluster.pass(1000);
  await eventuallyPasses(async () => {
    const { items } = await admin.resource(Event).list({ namespace: "default" });
    assert.match(
      items.map(({ reason, message }) => `${reason}: ${message}`).join("\n"),
      /FailedPrepareDynamicResources: .*is not allowed to use ResourceClaim c/,
    );
  });
  const results = [{ request: "gpu", driver: "gpu.example.com", pool: "s-0", device: "gpu-0" }];
  const reservedFor = [{ resource: "pods", name: "a", uid: pod.metadata.uid }];
  const claim = await claims.get(ref);
  await claims.update(
    { ...claim, status: { allocation: { devices: { results } } } },
    { subresource: "status" },
  );
  await cluster.pass(1000);
  await cluster.pod("a", ({ status }) => status?.phase === "Pending");
  const allocated = await claims.get(ref);
  await claims.update(
    { ...allocated, status: { ...allocated.status, reservedFor } },
    { subresource: "status" },
  );
  await cluster.pod("a", phase("Running"));
});

test("another process goes on where one was ended, and changes nothing that is as it should be", async () => {
  const stop = await cluster.simulate(names(1));
  const pods = cluster.admin.resource(Pod);
  await pods.create(podOn("s-0", "a", { containers, initContainers: [{ name: "init" }] }));
  await pods.create(annotated({ [runsForAnnotation]: "60s" }, "b", { restartPolicy: "Never" }));
  const [a] = [await cluster.pod("a", phase("Running")), await cluster.pod("b", phase("Running"))];
  await stop();
  await cluster.pass(59_000);
  await pods.create(podOn("s-0", "c", { containers }));
  cluster.takeRequests();
  await cluster.simulate(names(1));
  const c = await cluster.pod("c", phase("Running"));
  assert.equal(c.status?.podIP, "100.64.0.3", "the addresses of the others are taken");
  assert.deepEqual((await cluster.pod("a", () => true)).metadata.resourceVersion, a.metadata.resourceVersion);
  const requests = cluster.takeRequests();
  assert.equal(requests.get("patch pods"), 1);
  assert.equal(requests.get("patch nodes"), undefined);
  await cluster.pass(1000);
  await cluster.pod("b", phase("Succeeded"));
  assert.ok(
    (cluster.takeRequests().get("patch leases") ?? 0) >= 1,
    "leases that may be old are renewed at once",
  );
});
