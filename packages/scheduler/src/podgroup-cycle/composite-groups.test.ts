/**
 * Groups of groups (alpha in 1.37). Upstream: schedule_one_podgroup.go,
 * compositePodGroupSchedulingDefaultAlgorithm.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Pod } from "@dray/api/core/v1";
import { ResourceClaim } from "@dray/api/resource/v1";
import { PriorityClass } from "@dray/api/scheduling/v1";
import { CompositePodGroup } from "@dray/api/scheduling/v1alpha3";
import { PodGroup } from "@dray/api/scheduling/v1beta1";
import { devicesOf, type TestCluster, uses, withCluster } from "../testing/cluster.ts";

const options = {
  gates:
    "GenericWorkload=true,DRAWorkloadResourceClaims=true,TopologyAwareWorkloadScheduling=true,CompositePodGroup=true",
  runtimeConfig: { "scheduling.k8s.io/v1beta1": true, "scheduling.k8s.io/v1alpha3": true },
};

/** Nodes n1, n2, ... of 4 cpus, in a rack each. */
const withNodes = (count: number, run: (cluster: TestCluster) => Promise<void>): Promise<void> =>
  withCluster(async (cluster) => {
    for (let i = 1; i <= count; i++)
      await cluster.node(`n${i}`, { labels: { rack: `r${Math.ceil(i / 2)}` } });
    await cluster.scheduler();
    await run(cluster);
  }, options);

const asks = (cpu: string, more: object = {}): object => ({
  containers: [{ name: "c", image: "i", resources: { requests: { cpu } } }],
  ...more,
});

const composite = (cluster: TestCluster, name: string, minGroupCount: number, more: object = {}) =>
  cluster.create(CompositePodGroup, {
    metadata: { name },
    spec: {
      workloadRef: { workloadName: "w", templateName: name },
      schedulingPolicy: { gang: { minGroupCount } },
      ...more,
    },
  });

/** The group in another, with pods `name-1`, `name-2`, ... */
async function group(
  cluster: TestCluster,
  {
    name,
    parent,
    pods,
    ...more
  }: {
    readonly name: string;
    readonly parent: string;
    readonly pods: number;
    readonly priorityClassName?: string;
  },
  spec: (i: number) => object,
): Promise<string[]> {
  await cluster.create(PodGroup, {
    metadata: { name },
    spec: {
      parentCompositePodGroupName: parent,
      workloadRef: { workloadName: "w", templateName: name },
      schedulingPolicy: { gang: { minCount: pods } },
      ...more,
    },
  });
  const names = Array.from({ length: pods }, (_, i) => `${name}-${i + 1}`);
  for (const [i, pod] of names.entries())
    await cluster.pod(pod, { schedulingGroup: { podGroupName: name }, ...spec(i + 1) });
  return names;
}

const condition = (cluster: TestCluster, name: string, wanted: "True" | "False"): Promise<string> =>
  cluster.until(`the condition of ${name} is ${wanted}`, async () => {
    const { status } = await cluster.get(PodGroup, name);
    const found = status?.conditions?.find(({ type }) => type === "PodGroupInitiallyScheduled");
    return found?.status === wanted && `${found.reason} ${found.message}`;
  });

test("pods wait until the group around theirs exists, and enough groups have their pods", () =>
  withNodes(2, async (cluster) => {
    const workers = await group(cluster, { name: "workers", parent: "job", pods: 2 }, () => asks("1"));
    await cluster.settle();
    await composite(cluster, "job", 2);
    await cluster.settle();
    for (const pod of await cluster.list(Pod)) assert.equal(pod.spec.nodeName, undefined);
    assert.deepEqual(await cluster.events(), []);
    const leader = await group(cluster, { name: "leader", parent: "job", pods: 1 }, () => asks("1"));
    for (const name of [...workers, ...leader]) await cluster.bound(name);
    for (const name of ["workers", "leader"])
      assert.equal(await condition(cluster, name, "True"), "Scheduled ");
  }));

test("of a group of groups of which too few fit none is placed, and their devices are free", () =>
  withNodes(2, async (cluster) => {
    await cluster.gpuClass();
    await cluster.slice("n1", 1);
    for (const name of ["c", "other"]) await cluster.claim(name);
    await composite(cluster, "job", 2);
    await group(cluster, { name: "a", parent: "job", pods: 1 }, () => asks("3", uses("c")));
    await group(cluster, { name: "b", parent: "job", pods: 2 }, () => asks("3"));
    const none = "pod group preemption: No preemption victims found for incoming preemptor";
    const of = (counts: string, least: number): string =>
      `minCount (${least}) cannot be satisfied: ${counts}`;
    const root = of("1 scheduled, 0 remaining", 2);
    const available = (why: string): string =>
      `pod group is unschedulable, 0/1 placements are available, first placement status: ${why}`;
    assert.equal(await condition(cluster, "a", "False"), `Unschedulable ${available(root)}, ${none}`);
    assert.equal(
      await condition(cluster, "b", "False"),
      `Unschedulable ${available(of("1 scheduled, 0 remaining", 2))}, ${none}`,
    );
    assert.deepEqual(devicesOf(await cluster.get(ResourceClaim, "c")), []);
    await cluster.pod("other", uses("other"));
    assert.equal(await cluster.bound("other"), "n1");
    await cluster.remove("other", "other");
    await cluster.node("n3", { labels: { rack: "r2" } });
    for (const name of ["a-1", "b-1", "b-2"]) await cluster.bound(name);
  }));

test("as many groups as the minimum says are enough", () =>
  withNodes(1, async (cluster) => {
    await composite(cluster, "job", 1);
    const a = await group(cluster, { name: "a", parent: "job", pods: 1 }, () => asks("3"));
    await group(cluster, { name: "b", parent: "job", pods: 1 }, () => asks("3"));
    for (const name of a) assert.equal(await cluster.bound(name), "n1");
    assert.equal(await condition(cluster, "a", "True"), "Scheduled ");
    assert.match(await condition(cluster, "b", "False"), /^Unschedulable pod group is unschedulable, 0\/1 /);
    await cluster.node("n2");
    assert.equal(await cluster.bound("b-1"), "n2");
  }));

test("groups in groups: the outer one in one rack, each inner one too", () =>
  withNodes(4, async (cluster) => {
    const schedulingConstraints = { topology: [{ key: "rack" }] };
    const busy = asks("2", { nodeSelector: { "kubernetes.io/hostname": "n1" } });
    await cluster.pod("busy", busy);
    await cluster.bound("busy");
    await composite(cluster, "job", 1);
    await composite(cluster, "part", 2, { parentCompositePodGroupName: "job", schedulingConstraints });
    const names = [
      ...(await group(cluster, { name: "a", parent: "part", pods: 1 }, () => asks("3"))),
      ...(await group(cluster, { name: "b", parent: "part", pods: 1 }, () => asks("3"))),
    ];
    const nodes = await Promise.all(names.map((name) => cluster.bound(name)));
    assert.deepEqual(nodes.toSorted(), ["n3", "n4"]);
  }));

test("a group of groups preempts by its priority, and one that is a unit leaves as a whole", () =>
  withNodes(2, async (cluster) => {
    await cluster.create(PriorityClass, { metadata: { name: "high" }, value: 100 });
    await composite(cluster, "old", 1, { disruptionMode: { all: {} } });
    const old = [
      ...(await group(cluster, { name: "old-a", parent: "old", pods: 1 }, () => asks("3"))),
      ...(await group(cluster, { name: "old-b", parent: "old", pods: 1 }, () => asks("3"))),
    ];
    for (const name of old) await cluster.bound(name);
    const priorityClassName = "high";
    const { metadata } = await composite(cluster, "new", 1, { priorityClassName });
    await group(cluster, { name: "new-a", parent: "new", pods: 1, priorityClassName }, () =>
      asks("3", { priorityClassName }),
    );
    await cluster.until("all of it leaves", async () => {
      const pods = (await cluster.list(Pod)).filter((pod) => pod.metadata.deletionTimestamp !== undefined);
      return pods.length === 2;
    });
    const event = `Normal Preempted Preempted by compositepodgroup ${metadata.uid} on node cluster`;
    await cluster.until("the events", async () => (await cluster.events()).includes(event));
    for (const name of old) await cluster.remove(name);
    await cluster.bound("new-a-1");
  }));
