import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Event, Pod, type ResourceRequirements, ServiceAccount } from "@dray/api/core/v1";
import { hostRuntime, type Kubelet } from "./index.ts";
import { type NodeRuntime, type ResourceConfig, RuntimeError } from "./runtime/service.ts";
import { podBecomes, podOn, type TestCluster, testCluster } from "./testing/cluster.ts";
import { eventually } from "./testing/eventually.ts";
import { fastClock } from "./testing/fast-clock.ts";

const cpu = (amount: string): ResourceRequirements => ({
  requests: { cpu: amount },
  limits: { cpu: amount },
});

describe("resources of pods that run", () => {
  let cluster: TestCluster;
  let node: Kubelet;
  /** What the runtime was told, and what it says. */
  const updates: ResourceConfig[] = [];
  /** Those of pods and containers, in order: the quota of cpu. */
  const order: (readonly [what: "pod" | "container", quota: number | undefined])[] = [];
  let refusal: string | undefined;
  const start = () =>
    cluster.node("n1", {
      clock: fastClock(20),
      capacity: { cpu: "4" },
      runtime: (surroundings): NodeRuntime => {
        const made = hostRuntime({ images: [], cgroups: "none" })(surroundings);
        // As runtimes with bounds do it.
        made.service.updateContainerResources = async (_, resources) => {
          if (refusal !== undefined) throw new RuntimeError("UpdateError", refusal);
          updates.push(resources);
          order.push(["container", resources.cpuQuota]);
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
  const becomes = (name: string, wanted: (pod: Pod) => boolean) =>
    podBecomes(cluster.admin, ref(name), wanted);
  const main = ({ status }: Pod) => status?.containerStatuses?.[0];
  const has = (amount: string) => (pod: Pod) => main(pod)?.resources?.limits?.["cpu"] === amount;
  const condition = ({ status }: Pod, type: string) => status?.conditions?.find((one) => one.type === type);
  async function reasons(name: string): Promise<string[]> {
    const { items } = await cluster.admin.resource(Event).list({ namespace: "default" });
    return items
      .filter(({ involvedObject }) => involvedObject.name === name)
      .map(({ reason }) => reason ?? "");
  }

  test("what fits is done in place, and the status says what is there", async () => {
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
    await eventually(async () => {
      const told = await reasons("inplace");
      assert.ok(told.includes("ResizeStarted") && told.includes("ResizeCompleted"), told.join());
    });
  });

  test("the pod as a whole grows before its containers, and shrinks after them", async () => {
    await run("whole", "1");
    order.length = 0;
    await resize("whole", "1200m");
    await becomes("whole", has("1200m"));
    await eventually(() =>
      assert.deepEqual(order, [
        ["pod", 120_000],
        ["container", 120_000],
      ]),
    );
    order.length = 0;
    await resize("whole", "700m");
    await becomes("whole", has("700m"));
    await eventually(() =>
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

  test("what the node never has is infeasible; what it has not now waits for room", async () => {
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

  test("what the runtime cannot do is said, and tried again", async () => {
    refusal = "no room in the cgroup";
    await resize("inplace", "3");
    const failed = await becomes(
      "inplace",
      (pod) => condition(pod, "PodResizeInProgress")?.reason === "Error",
    );
    assert.equal(condition(failed, "PodResizeInProgress")?.message, refusal);
    assert.deepEqual(
      [main(failed)?.resources, main(failed)?.allocatedResources],
      [cpu("3500m"), { cpu: "3" }],
    );
    refusal = undefined;
    const done = await becomes("inplace", has("3"));
    assert.equal(condition(done, "PodResizeInProgress"), undefined);
  });

  test("a change that no agent saw is done by the next one", async () => {
    await node.stop({ leavePods: true });
    await resize("inplace", "1500m");
    updates.length = 0;
    node = await start();
    await becomes("inplace", has("1500m"));
    assert.equal(updates[0]?.cpuQuota, 150_000);
  });
});
