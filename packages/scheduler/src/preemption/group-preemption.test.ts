/** Preemption for groups of pods, and of them. Upstream: framework/preemption/podgrouppreemption.go. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Pod } from "@dray/api/core/v1";
import { PodDisruptionBudget } from "@dray/api/policy/v1";
import { ResourceClaim } from "@dray/api/resource/v1";
import { PriorityClass } from "@dray/api/scheduling/v1";
import { PodGroup } from "@dray/api/scheduling/v1beta1";
import { devicesOf, type TestCluster, uses, withCluster } from "../testing/cluster.ts";

const options = {
  gates: "GenericWorkload=true,DRAWorkloadResourceClaims=true",
  runtimeConfig: { "scheduling.k8s.io/v1beta1": true },
};

/** Nodes n1, n2, ... with 4 cpus each, and priority classes. */
const withNodes = (nodes: number, run: (cluster: TestCluster) => Promise<void>): Promise<void> =>
  withCluster(async (cluster) => {
    for (const [name, value, preemptionPolicy] of [
      ["low", 10, "PreemptLowerPriority"],
      ["middle", 50, "PreemptLowerPriority"],
      ["high", 100, "PreemptLowerPriority"],
      ["polite", 100, "Never"],
    ] as const)
      await cluster.create(PriorityClass, { metadata: { name }, value, preemptionPolicy });
    for (let i = 1; i <= nodes; i++) await cluster.node(`n${i}`);
    await run(cluster);
  }, options);

const asks = (cpu: string, more: object = {}): object => ({
  containers: [{ name: "c", image: "i", resources: { requests: { cpu } } }],
  ...more,
});

const gang = (
  cluster: TestCluster,
  name: string,
  minCount: number,
  spec: {
    readonly priorityClassName: string;
    readonly disruptionMode?: object;
    readonly resourceClaims?: readonly object[];
  },
): Promise<PodGroup> =>
  cluster.create(PodGroup, {
    metadata: { name },
    spec: { schedulingPolicy: { gang: { minCount } }, ...spec },
  });

/** Pods `group-1`, `group-2`, ... */
async function members(
  cluster: TestCluster,
  group: string,
  count: number,
  spec: (i: number) => object,
): Promise<string[]> {
  const names = Array.from({ length: count }, (_, i) => `${group}-${i + 1}`);
  const { priorityClassName } = (await cluster.get(PodGroup, group)).spec;
  for (const [i, name] of names.entries())
    await cluster.pod(
      name,
      { priorityClassName, schedulingGroup: { podGroupName: group }, ...spec(i + 1) },
      { group },
    );
  return names;
}

const condition = (cluster: TestCluster, group: string, wanted: "True" | "False"): Promise<string> =>
  cluster.until(`the condition of ${group} is ${wanted}`, async () => {
    const { status } = await cluster.get(PodGroup, group);
    const found = status?.conditions?.find(({ type }) => type === "PodGroupInitiallyScheduled");
    return found?.status === wanted && `${found.reason} ${found.message}`;
  });

const nominated = (cluster: TestCluster, name: string): Promise<string> =>
  cluster.until(
    `pod ${name} is nominated`,
    async () => (await cluster.get(Pod, name)).status?.nominatedNodeName,
  );

/** Waits until `count` pods are being deleted, and returns their names. */
const leaving = (cluster: TestCluster, count: number): Promise<string[]> =>
  cluster.until(`${count} pods leave`, async () => {
    const names = (await cluster.list(Pod)).flatMap(({ metadata }) =>
      metadata.deletionTimestamp === undefined ? [] : [metadata.name],
    );
    return names.length === count && names.sort();
  });

/** The pod has ended within its grace period, and its kubelet says so. */
const ends = (cluster: TestCluster, name: string): Promise<unknown> =>
  cluster.client.resource(Pod).delete({ namespace: "d", name }, { gracePeriodSeconds: 0 });

test("pods of lower priority leave for a gang all of which fits then, and it comes when they are gone", () =>
  withNodes(2, async (cluster) => {
    await cluster.scheduler();
    for (const name of ["v1", "v2"]) {
      await cluster.pod(name, asks("3", { priorityClassName: "low" }));
      await cluster.bound(name);
    }
    const { metadata } = await gang(cluster, "g", 2, { priorityClassName: "high" });
    const names = await members(cluster, "g", 2, () => asks("3"));
    assert.deepEqual((await Promise.all(names.map((name) => nominated(cluster, name)))).sort(), ["n1", "n2"]);
    assert.equal(
      await condition(cluster, "g", "False"),
      "Unschedulable minCount (2) cannot be satisfied: 0 scheduled, 1 remaining, pod group preemption: found a placement for podgroup, preempting 2 victims",
    );
    // The first one has no node of its own; the other was not tried.
    assert.equal(await cluster.refused("g-1"), "0/2 nodes are available: 2 Insufficient cpu.");
    assert.equal(await cluster.refused("g-2"), "minCount (2) cannot be satisfied: 0 scheduled, 1 remaining");
    assert.deepEqual(await leaving(cluster, 2), ["v1", "v2"]);
    const { status } = await cluster.get(Pod, "v1");
    const disrupted = status?.conditions?.find(({ type }) => type === "DisruptionTarget");
    assert.deepEqual(
      [disrupted?.status, disrupted?.reason, disrupted?.message],
      [
        "True",
        "PreemptionByScheduler",
        "default-scheduler: preempting to accommodate a higher priority podgroup",
      ],
    );
    const event = `Normal Preempted Preempted by podgroup ${metadata.uid} on node cluster`;
    await cluster.until(
      "the events",
      async () => (await cluster.events()).filter((text) => text === event).length === 2,
    );
    // Room is kept for it.
    await cluster.pod("other", asks("3", { priorityClassName: "middle" }));
    await ends(cluster, "v1");
    await cluster.settle();
    assert.equal((await cluster.get(Pod, "g-1")).spec.nodeName, undefined);
    await ends(cluster, "v2");
    for (const name of names) await cluster.bound(name);
    assert.equal(await condition(cluster, "g", "True"), "Scheduled ");
    assert.equal((await cluster.get(Pod, "other")).spec.nodeName, undefined);
  }));

test("only as much leaves as the gang needs, the least important first", () =>
  withNodes(1, async (cluster) => {
    await cluster.scheduler();
    for (const [name, priorityClassName] of [
      ["l1", "low"],
      ["m1", "middle"],
      ["l2", "low"],
    ]) {
      await cluster.pod(name!, asks("1", { priorityClassName }));
      await cluster.bound(name!);
    }
    await gang(cluster, "g", 2, { priorityClassName: "high" });
    const names = await members(cluster, "g", 2, () => asks("1"));
    const [victim] = await leaving(cluster, 1);
    assert.match(victim!, /^l/);
    await ends(cluster, victim!);
    for (const name of names) await cluster.bound(name);
    await leaving(cluster, 0);
  }));

test("no victims for a gang that would not fit without all of them", () =>
  withNodes(2, async (cluster) => {
    await cluster.scheduler();
    for (const name of ["v1", "v2"]) {
      await cluster.pod(name, asks("3", { priorityClassName: "low" }));
      await cluster.bound(name);
    }
    await gang(cluster, "g", 3, { priorityClassName: "high" });
    await members(cluster, "g", 3, () => asks("3"));
    assert.equal(
      await condition(cluster, "g", "False"),
      "Unschedulable minCount (3) cannot be satisfied: 0 scheduled, 2 remaining, pod group preemption: minCount (3) cannot be satisfied: 2 scheduled, 0 remaining",
    );
    assert.deepEqual(await leaving(cluster, 0), []);
  }));

test("a group whose disruption mode is all leaves as a whole, for a gang and for a pod", () =>
  withNodes(2, async (cluster) => {
    await cluster.scheduler();
    const on = (node: string): object => ({ nodeSelector: { "kubernetes.io/hostname": node } });
    await gang(cluster, "whole", 2, { priorityClassName: "low", disruptionMode: { all: {} } });
    await gang(cluster, "loose", 2, { priorityClassName: "low", disruptionMode: { single: {} } });
    for (const name of [
      ...(await members(cluster, "whole", 2, (i) => asks("1", on(`n${i}`)))),
      ...(await members(cluster, "loose", 2, (i) => asks("1", on(`n${i}`)))),
    ])
      await cluster.bound(name);
    // The larger of two groups is the more important one.
    await gang(cluster, "g", 1, { priorityClassName: "high" });
    await members(cluster, "g", 1, () => asks("3", on("n1")));
    assert.deepEqual(await leaving(cluster, 1), ["loose-1"]);
    await ends(cluster, "loose-1");
    await cluster.bound("g-1");
    await cluster.pod("high", asks("4", { priorityClassName: "high", ...on("n2") }));
    assert.deepEqual(await leaving(cluster, 3), ["loose-2", "whole-1", "whole-2"]);
  }));

test("preemptionPolicy Never of a pod rules preemption out for its group", () =>
  withNodes(1, async (cluster) => {
    await cluster.scheduler();
    await cluster.pod("v", asks("3", { priorityClassName: "low" }));
    await cluster.bound("v");
    await gang(cluster, "g", 1, { priorityClassName: "polite" });
    await members(cluster, "g", 1, () => asks("3"));
    assert.match(
      await condition(cluster, "g", "False"),
      /, pod group preemption: not eligible due to preemptionPolicy=Never\.$/,
    );
    assert.deepEqual(await leaving(cluster, 0), []);
  }));

test("no further victims while the victims of the gang terminate", () =>
  withNodes(2, async (cluster) => {
    await cluster.scheduler();
    for (const name of ["v1", "v2", "v3", "v4"]) {
      await cluster.pod(name, asks("2", { priorityClassName: "low" }));
      await cluster.bound(name);
    }
    await gang(cluster, "g", 2, { priorityClassName: "high" });
    const names = await members(cluster, "g", 2, () => asks("2"));
    await leaving(cluster, 2);
    const nodes = await Promise.all(names.map((name) => nominated(cluster, name)));
    // Something happens, and the gang is tried again.
    await cluster.node("n3", { allocatable: { cpu: "1" } });
    assert.match(
      await cluster.until("another attempt", async () => {
        const text = await condition(cluster, "g", "False");
        return text.includes("ongoing") && text;
      }),
      /, pod group preemption: ongoing preemption on nominated nodes$/,
    );
    assert.deepEqual(await Promise.all(names.map((name) => nominated(cluster, name))), nodes);
    await leaving(cluster, 2);
  }));

test("pods with a disruption budget are preempted last, and whole groups with one such pod", () =>
  withNodes(1, async (cluster) => {
    await cluster.scheduler();
    await gang(cluster, "guarded", 2, { priorityClassName: "low", disruptionMode: { all: {} } });
    const guarded = await members(cluster, "guarded", 2, () => asks("1"));
    await cluster.pod("free", asks("1", { priorityClassName: "middle" }));
    for (const name of [...guarded, "free"]) await cluster.bound(name);
    const budget = await cluster.create(PodDisruptionBudget, {
      metadata: { name: "b" },
      spec: { maxUnavailable: 1, selector: { matchLabels: { group: "guarded" } } },
    });
    const status = { disruptionsAllowed: 1, currentHealthy: 2, desiredHealthy: 1, expectedPods: 2 };
    await cluster.client
      .resource(PodDisruptionBudget)
      .patch(budget.metadata, "merge", { status }, { subresource: "status" });
    await gang(cluster, "g", 1, { priorityClassName: "high" });
    await members(cluster, "g", 1, () => asks("2"));
    // Though its priority is higher.
    assert.deepEqual(await leaving(cluster, 1), ["free"]);
  }));

test("devices are not preempted: devices of the victims' claims are not free for a gang", () =>
  withNodes(1, async (cluster) => {
    await cluster.slice("n1", 2);
    await cluster.gpuClass();
    for (const claim of ["v", "c1", "c2"]) await cluster.claim(claim);
    await cluster.scheduler();
    await cluster.pod("v", asks("3", { ...uses("v"), priorityClassName: "low" }));
    await cluster.bound("v");
    await gang(cluster, "g", 2, { priorityClassName: "high" });
    await members(cluster, "g", 2, (i) => asks("1", uses(`c${i}`)));
    assert.equal(
      await condition(cluster, "g", "False"),
      "Unschedulable minCount (2) cannot be satisfied: 1 scheduled, 0 remaining, pod group preemption: minCount (2) cannot be satisfied: 1 scheduled, 0 remaining",
    );
    assert.deepEqual(await leaving(cluster, 0), []);
    for (const claim of ["c1", "c2"])
      assert.deepEqual(devicesOf(await cluster.get(ResourceClaim, claim)), []);
  }));

test("a gang with a shared claim and claims of its own makes room by cpu, and its devices are there once", () =>
  withNodes(2, async (cluster) => {
    await cluster.slice("n1", 3);
    await cluster.gpuClass();
    for (const claim of ["shared", "c1", "c2"]) await cluster.claim(claim);
    const first = await cluster.scheduler();
    for (const name of ["v1", "v2"]) {
      await cluster.pod(name, asks("3", { priorityClassName: "low" }));
      await cluster.bound(name);
    }
    await gang(cluster, "g", 2, {
      priorityClassName: "high",
      resourceClaims: [{ name: "shared", resourceClaimName: "shared" }],
    });
    const names = await members(cluster, "g", 2, (i) => asks("2", uses("shared", `c${i}`)));
    for (const name of names) assert.equal(await nominated(cluster, name), "n1");
    const [victim] = await leaving(cluster, 1);
    assert.equal((await cluster.get(Pod, victim!)).spec.nodeName, "n1");
    for (const claim of ["shared", "c1", "c2"])
      assert.deepEqual(devicesOf(await cluster.get(ResourceClaim, claim)), []);
    // Another scheduler goes on where this one has ended.
    first.kill();
    await cluster.scheduler();
    await ends(cluster, victim!);
    for (const name of names) assert.equal(await cluster.bound(name), "n1");
    const taken = (await cluster.list(ResourceClaim)).flatMap(devicesOf);
    assert.equal(new Set(taken).size, 3);
  }));
