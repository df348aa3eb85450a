import assert from "node:assert/strict";
import { test } from "node:test";
import { featuresOf } from "@dray/api";
import { Pod } from "@dray/api/core/v1";
import { PodDisruptionBudget } from "@dray/api/policy/v1";
import { PriorityClass } from "@dray/api/scheduling/v1";
import { type TestCluster, uses, withCluster } from "../testing/cluster.ts";

const asks = (cpu: string, more: object = {}): object => ({
  containers: [{ name: "c", image: "i", resources: { requests: { cpu } } }],
  ...more,
});
const high = { priorityClassName: "high" };

async function withClasses(test: (cluster: TestCluster) => Promise<void>): Promise<void> {
  await withCluster(async (cluster) => {
    for (const [name, value, preemptionPolicy] of [
      ["low", 10, "PreemptLowerPriority"],
      ["high", 100, "PreemptLowerPriority"],
      ["polite", 100, "Never"],
    ] as const)
      await cluster.create(PriorityClass, { metadata: { name }, value, preemptionPolicy });
    await test(cluster);
  });
}

const nominated = (cluster: TestCluster, name: string): Promise<string> =>
  cluster.until(
    `pod ${name} is nominated`,
    async () => (await cluster.get(Pod, name)).status?.nominatedNodeName,
  );
/** The pod has ended within its grace period, and its kubelet says so. */
const ends = (cluster: TestCluster, name: string): Promise<unknown> =>
  cluster.client.resource(Pod).delete({ namespace: "d", name }, { gracePeriodSeconds: 0 });

test("a pod of lower priority terminates gracefully, and its room is kept for the preemptor", () =>
  withClasses(async (cluster) => {
    await cluster.node("n1");
    await cluster.scheduler();
    await cluster.pod("victim", asks("3"));
    await cluster.bound("victim");
    await cluster.pod("preemptor", asks("3", high));
    assert.equal(await nominated(cluster, "preemptor"), "n1");
    assert.equal(
      await cluster.refused("preemptor"),
      "0/1 nodes are available: 1 Insufficient cpu. preemption: found a potential placement for pod on node n1, preempting 1 victims",
    );
    const victim = await cluster.until("the victim is deleted", async () => {
      const pod = await cluster.get(Pod, "victim");
      return pod.metadata.deletionTimestamp !== undefined && pod;
    });
    const condition = victim.status?.conditions?.find(({ type }) => type === "DisruptionTarget");
    assert.deepEqual(
      [condition?.status, condition?.reason, condition?.message],
      ["True", "PreemptionByScheduler", "default-scheduler: preempting to accommodate a higher priority pod"],
    );
    const { uid } = (await cluster.get(Pod, "preemptor")).metadata;
    await cluster.until("the event", async () =>
      (await cluster.events()).includes(`Normal Preempted Preempted by pod ${uid} on node n1`),
    );
    // The room that the victim still takes is not for others, nor is what it will leave.
    await cluster.pod("latecomer", asks("1500m"));
    await cluster.refused("latecomer");
    await ends(cluster, "victim");
    assert.equal(await cluster.bound("preemptor"), "n1");
    assert.equal((await cluster.get(Pod, "latecomer")).spec.nodeName, undefined);
  }));

test("before 1.37 the message does not mention preemption", () =>
  withClasses(async (cluster) => {
    await cluster.node("n1");
    await cluster.scheduler(undefined, { features: featuresOf("1.36") });
    await cluster.pod("victim", asks("3"));
    await cluster.bound("victim");
    await cluster.pod("preemptor", asks("3", high));
    assert.equal(await nominated(cluster, "preemptor"), "n1");
    assert.equal(await cluster.refused("preemptor"), "0/1 nodes are available: 1 Insufficient cpu.");
  }));

test("a pod with preemptionPolicy Never waits, which its message reports", () =>
  withClasses(async (cluster) => {
    await cluster.node("n1");
    await cluster.scheduler();
    await cluster.pod("running", asks("3"));
    await cluster.bound("running");
    await cluster.pod("polite", asks("3", { priorityClassName: "polite" }));
    assert.match(
      await cluster.refused("polite"),
      /1 Insufficient cpu\. .*preemption: not eligible due to preemptionPolicy=Never\.$/,
    );
    await cluster.settle();
    assert.equal((await cluster.get(Pod, "running")).metadata.deletionTimestamp, undefined);
  }));

test("no further victims while the victims terminate", () =>
  withClasses(async (cluster) => {
    await cluster.node("n1");
    await cluster.scheduler();
    for (const name of ["a", "b"]) {
      await cluster.pod(name, asks("2"));
      await cluster.bound(name);
    }
    await cluster.pod("preemptor", asks("2", high));
    await nominated(cluster, "preemptor");
    const going = async (): Promise<string[]> =>
      (await cluster.list(Pod))
        .filter(({ metadata }) => metadata.deletionTimestamp !== undefined)
        .map(({ metadata }) => metadata.name);
    await cluster.until("a victim goes", async () => (await going()).length > 0);
    // A node comes that might help: the preemptor is tried again, and must wait for its victim.
    await cluster.node("n2", { spec: { unschedulable: true } });
    await cluster.until("it is tried again", async () =>
      /0\/2 nodes .*preemption: not eligible due to a terminating pod on the nominated node\.$/.test(
        await cluster.refused("preemptor"),
      ),
    );
    assert.equal((await going()).length, 1);
    assert.equal((await cluster.get(Pod, "preemptor")).status?.nominatedNodeName, "n1");
    await ends(cluster, (await going())[0]!);
    assert.equal(await cluster.bound("preemptor"), "n1");
  }));

test("a lower pod loses its nomination to a higher one, and is tried again", () =>
  withClasses(async (cluster) => {
    await cluster.node("n1");
    await cluster.scheduler();
    await cluster.pod("victim", asks("3"));
    await cluster.bound("victim");
    await cluster.pod("middle", asks("3", { priorityClassName: "low" }));
    assert.equal(await nominated(cluster, "middle"), "n1");
    await cluster.pod("highest", asks("3", high));
    assert.equal(await nominated(cluster, "highest"), "n1");
    await cluster.until(
      "the nomination is taken back",
      async () => (await cluster.get(Pod, "middle")).status?.nominatedNodeName === undefined,
    );
    await ends(cluster, "victim");
    assert.equal(await cluster.bound("highest"), "n1");
    assert.equal((await cluster.get(Pod, "middle")).spec.nodeName, undefined);
  }));

test("of two nodes the one is freed whose pods no budget protects", () =>
  withClasses(async (cluster) => {
    for (const name of ["n1", "n2"]) await cluster.node(name);
    const budget = await cluster.create(PodDisruptionBudget, {
      metadata: { name: "b" },
      spec: { maxUnavailable: 0, selector: { matchLabels: { app: "guarded" } } },
    });
    await cluster.client
      .resource(PodDisruptionBudget)
      .patch(
        budget.metadata,
        "merge",
        { status: { disruptionsAllowed: 0, currentHealthy: 1, desiredHealthy: 1, expectedPods: 1 } },
        { subresource: "status" },
      );
    await cluster.scheduler();
    await cluster.pod("guarded", asks("3"), { app: "guarded" });
    await cluster.bound("guarded");
    await cluster.pod("free", asks("3", { priorityClassName: "low" }));
    const node = await cluster.bound("free");
    await cluster.pod("preemptor", asks("3", high));
    // Though its pod has the higher priority.
    assert.equal(await nominated(cluster, "preemptor"), node);
  }));

test("devices are not preempted", () =>
  withClasses(async (cluster) => {
    await cluster.node("n1");
    await cluster.slice("n1", 1);
    await cluster.gpuClass();
    for (const claim of ["c1", "c2"]) await cluster.claim(claim);
    await cluster.scheduler();
    await cluster.pod("holder", uses("c1"));
    await cluster.bound("holder");
    await cluster.pod("preemptor", { ...uses("c2"), ...high });
    assert.match(
      await cluster.refused("preemptor"),
      /1 cannot allocate all claims\. .*preemption: 0\/1 nodes are available: 1 Preemption is not helpful for scheduling\.$/,
    );
    assert.equal((await cluster.get(Pod, "holder")).metadata.deletionTimestamp, undefined);
  }));
