import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Event, Pod, type ResourceRequirements, ServiceAccount } from "@dray/api/core/v1";
import { fastClock } from "@dray/testing/clock";
import { eventuallyPasses } from "@dray/testing/eventually";
import { hostRuntime, type Kubelet } from "../index.ts";
import type { ResourceConfig } from "../runtime/config.ts";
import { RuntimeError } from "../runtime/error.ts";
import type { NodeRuntime } from "../runtime/service.ts";
import { podBecomes, podOn, type TestCluster, testCluster } from "../testing/cluster.ts";

const cpu = (amount: string): ResourceRequirements => ({
  requests: { cpu: amount },
  limits: { cpu: amount },
});

let cluster: TestCluster;
let node: Kubelet;
/** Updates that the runtime got. */
const updates: ResourceConfig[] = [];
/** Quotas of cpu of pods and containers, in order. */
const order: (readonly [what: "pod" | "container", quota: number | undefined])[] = [];
let refusal: string | undefined;
/** Usage of each container. */
let memory: number | undefined;
const start = () =>
  cluster.node("n1", {
    clock: fastClock(20),
    capacity: { cpu: "4" },
    runtime: (surroundings): NodeRuntime => {
      const made = hostRuntime({ images: [], cgroups: "none" })(surroundings);
      // As runtimes that enforce limits do.
      made.service.updateContainerResources = async (_, resources) => {
        if (refusal !== undefined) throw new RuntimeError("UpdateError", refusal);
        updates.push(resources);
        order.push(["container", resources.cpuQuota]);
      };
      made.service.listContainerStats = async () => {
        if (memory === undefined) return [];
        const use = { at: 0, cpuNanoseconds: 0, memoryWorkingSetBytes: memory };
        return (await made.service.listContainers()).map(({ id }) => ({ containerId: id, ...use }));
      };
      const updatePod = made.service.updatePodSandboxResources.bind(made.service);
      made.service.updatePodSandboxResources = async (id, resources) => {
        order.push(["pod", resources.cpuQuota]);
        await updatePod(id, resources);
      };
      return made;
    },
  });
before(async () => {
  cluster = await testCluster();
  const account = { metadata: { namespace: "default", name: "default" } };
  await cluster.admin.resource(ServiceAccount).create(account);
  node = await start();
});
after(() => cluster.close());

const ref = (name: string) => ({ namespace: "default", name });
async function run(name: string, amount: string, restartPolicy = "NotRequired"): Promise<Pod> {
  await cluster.admin.resource(Pod).create(
    podOn("n1", name, {
      terminationGracePeriodSeconds: 1,
      containers: [
        {
          name: "main",
          command: ["sleep", "1000"],
          resources: cpu(amount),
          resizePolicy: [{ resourceName: "cpu", restartPolicy }],
        },
      ],
    }),
  );
  return becomes(name, ({ status }) => status?.phase === "Running");
}
const resize = (name: string, amount: string) =>
  cluster.admin
    .resource(Pod)
    .patch(
      ref(name),
      "strategic",
      { spec: { containers: [{ name: "main", resources: cpu(amount) }] } },
      { subresource: "resize" },
    );
/** A pod with resources as a whole. Its second container is restarted for each change. */
async function runWhole(name: string, resources: ResourceRequirements): Promise<Pod> {
  const policy = ["cpu", "memory"].map((resourceName) => ({
    resourceName,
    restartPolicy: "RestartContainer",
  }));
  await cluster.admin.resource(Pod).create(
    podOn("n1", name, {
      terminationGracePeriodSeconds: 1,
      resources,
      containers: [
        { name: "main", command: ["sleep", "1000"] },
        { name: "again", command: ["sleep", "1000"], resizePolicy: policy },
      ],
    }),
  );
  return becomes(name, ({ status }) => status?.phase === "Running");
}
const resizeWhole = (name: string, resources: ResourceRequirements) =>
  cluster.admin
    .resource(Pod)
    .patch(ref(name), "strategic", { spec: { resources } }, { subresource: "resize" });
/** The pod has the amount, and no resize is in progress. */
const isWhole = (amount: string) => (pod: Pod) =>
  pod.status?.resources?.limits?.["cpu"] === amount &&
  ["PodResizeInProgress", "PodResizePending"].every((type) => condition(pod, type) === undefined) &&
  condition(pod, "Ready")?.status === "True";
const becomes = (name: string, wanted: (pod: Pod) => boolean) => podBecomes(cluster.admin, ref(name), wanted);
const main = ({ status }: Pod) => status?.containerStatuses?.[0];
const has = (amount: string) => (pod: Pod) => main(pod)?.resources?.limits?.["cpu"] === amount;
const condition = ({ status }: Pod, type: string) => status?.conditions?.find((one) => one.type === type);
async function reasons(name: string): Promise<string[]> {
  const { items } = await cluster.admin.resource(Event).list({ namespace: "default" });
  return items.filter(({ involvedObject }) => involvedObject.name === name).map(({ reason }) => reason ?? "");
}

test("a resize that fits happens in place, and the status has the actual resources", async () => {
  const first = await run("inplace", "1");
  assert.deepEqual(main(first)?.allocatedResources, { cpu: "1" });
  assert.deepEqual(main(first)?.resources, cpu("1"));
  updates.length = 0;
  await resize("inplace", "2");
  const pod = await becomes("inplace", has("2"));
  assert.equal(updates[0]?.cpuQuota, 200_000);
  assert.deepEqual(main(pod)?.allocatedResources, { cpu: "2" });
  assert.equal(main(pod)?.containerID, main(first)?.containerID);
  await becomes("inplace", (one) => condition(one, "PodResizeInProgress") === undefined);
  await eventuallyPasses(async () => {
    const reported = await reasons("inplace");
    assert.ok(reported.includes("ResizeStarted") && reported.includes("ResizeCompleted"), reported.join());
  });
});

test("pod-level resources grow before the containers, and shrink after them", async () => {
  await run("whole", "1");
  order.length = 0;
  await resize("whole", "1200m");
  await becomes("whole", has("1200m"));
  await eventuallyPasses(() =>
    assert.deepEqual(order, [
      ["pod", 120_000],
      ["container", 120_000],
    ]),
  );
  order.length = 0;
  await resize("whole", "700m");
  await becomes("whole", has("700m"));
  await eventuallyPasses(() =>
    assert.deepEqual(order, [
      ["container", 70_000],
      ["pod", 70_000],
    ]),
  );
  await cluster.admin.resource(Pod).delete(ref("whole"));
});

test("a policy of restarts starts the container anew with the new bounds", async () => {
  await run("restarting", "500m", "RestartContainer");
  await resize("restarting", "600m");
  const pod = await becomes("restarting", (one) => main(one)?.restartCount === 1 && has("600m")(one));
  assert.notEqual(main(pod)?.state?.running, undefined);
  await cluster.admin.resource(Pod).delete(ref("restarting"));
});

test("a container without a limit has the pod's limit, to which its resize policy applies", async () => {
  await runWhole("shared", cpu("1"));
  updates.length = 0;
  await resizeWhole("shared", cpu("1500m"));
  const pod = await becomes("shared", isWhole("1500m"));
  assert.deepEqual(
    updates.map(({ cpuQuota }) => cpuQuota),
    [150_000],
  );
  const counts = pod.status?.containerStatuses?.map(({ restartCount }) => Number(restartCount));
  assert.deepEqual(counts, [0, 1]);
  assert.deepEqual(pod.status?.allocatedResources, { cpu: "1500m" });
  assert.deepEqual(pod.status?.resources, cpu("1500m"));
  await eventuallyPasses(async () => {
    const reported = await reasons("shared");
    assert.ok(reported.includes("ResizeStarted") && reported.includes("ResizeCompleted"), reported.join());
  });
});

test("a resize of pod-level resources is deferred or infeasible", async () => {
  await resizeWhole("shared", cpu("5"));
  const never = await becomes("shared", (pod) => condition(pod, "PodResizePending") !== undefined);
  assert.equal(condition(never, "PodResizePending")?.reason, "Infeasible");
  assert.deepEqual(never.status?.allocatedResources, { cpu: "1500m" });
  await resizeWhole("shared", cpu("3900m"));
  await becomes("shared", (pod) => condition(pod, "PodResizePending")?.reason === "Deferred");
  await resizeWhole("shared", cpu("1500m"));
  await becomes("shared", isWhole("1500m"));
});

test("a restarted agent applies a missed change of pod-level resources", async () => {
  await node.stop({ leavePods: true });
  await resizeWhole("shared", cpu("1200m"));
  updates.length = 0;
  node = await start();
  const pod = await becomes("shared", isWhole("1200m"));
  assert.deepEqual(
    updates.map(({ cpuQuota }) => cpuQuota),
    [120_000],
  );
  const counts = pod.status?.containerStatuses?.map(({ restartCount }) => Number(restartCount));
  assert.deepEqual(counts, [0, 2]);
  await node.stop({ leavePods: true });
  node = await start();
  updates.length = 0;
  await becomes("shared", isWhole("1200m"));
  await run("after", "100m");
  assert.deepEqual(updates, [], "nothing has changed");
  for (const name of ["shared", "after"]) await cluster.admin.resource(Pod).delete(ref(name));
});

test("a memory limit does not fall below what is used", async () => {
  const bytes = (amount: string): ResourceRequirements => ({
    requests: { memory: amount },
    limits: { memory: amount },
  });
  await runWhole("full", bytes("64Mi"));
  memory = 10 * 2 ** 20;
  try {
    await resizeWhole("full", bytes("8Mi"));
    const failed = await becomes("full", (pod) => condition(pod, "PodResizeInProgress")?.reason === "Error");
    const message =
      "cannot decrease memory limits: [attempting to set pod memory limit (8388608) below current usage (10485760), " +
      'attempting to set container "main" memory limit (8388608) below current usage (10485760)]';
    assert.equal(condition(failed, "PodResizeInProgress")?.message, message);
    assert.equal(failed.status?.resources?.limits?.["memory"], "64Mi");
    memory = 2 ** 20;
    const done = await becomes("full", ({ status }) => status?.resources?.limits?.["memory"] === "8Mi");
    assert.deepEqual(done.status?.allocatedResources, { memory: "8Mi" });
  } finally {
    memory = undefined;
  }
  await cluster.admin.resource(Pod).delete(ref("full"));
});

test("a resize beyond the node's capacity is infeasible, one beyond its free resources deferred", async () => {
  await resize("inplace", "5");
  const never = await becomes("inplace", (pod) => condition(pod, "PodResizePending") !== undefined);
  const { reason, message } = condition(never, "PodResizePending") ?? {};
  assert.equal(reason, "Infeasible");
  assert.equal(message, "Node didn't have enough capacity: cpu, requested: 5000, capacity: 4000");
  assert.deepEqual(main(never)?.resources, cpu("2"));
  await run("neighbour", "1");
  await resize("inplace", "3500m");
  const waiting = await becomes(
    "inplace",
    (pod) => condition(pod, "PodResizePending")?.reason === "Deferred",
  );
  assert.match(
    condition(waiting, "PodResizePending")?.message ?? "",
    /^Node didn't have enough resource: cpu, /,
  );
  await cluster.admin.resource(Pod).delete(ref("neighbour"));
  const done = await becomes("inplace", has("3500m"));
  assert.equal(condition(done, "PodResizePending"), undefined);
});

test("a failed resize of the runtime is reported and retried", async () => {
  refusal = "no room in the cgroup";
  await resize("inplace", "3");
  const failed = await becomes("inplace", (pod) => condition(pod, "PodResizeInProgress")?.reason === "Error");
  assert.equal(condition(failed, "PodResizeInProgress")?.message, refusal);
  assert.deepEqual([main(failed)?.resources, main(failed)?.allocatedResources], [cpu("3500m"), { cpu: "3" }]);
  refusal = undefined;
  const done = await becomes("inplace", has("3"));
  assert.equal(condition(done, "PodResizeInProgress"), undefined);
});

test("a restarted agent applies a missed change", async () => {
  await node.stop({ leavePods: true });
  await resize("inplace", "1500m");
  updates.length = 0;
  node = await start();
  await becomes("inplace", has("1500m"));
  assert.equal(updates[0]?.cpuQuota, 150_000);
});
