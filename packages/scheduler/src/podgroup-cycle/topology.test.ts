/**
 * Groups whose pods have to be in one domain of a topology. Upstream: podGroupSchedulingPlacementAlgorithm.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Node, Pod } from "@dray/api/core/v1";
import { ResourceClaim } from "@dray/api/resource/v1";
import { PriorityClass } from "@dray/api/scheduling/v1";
import { PodGroup } from "@dray/api/scheduling/v1beta1";
import { devicesOf, type TestCluster, uses, withCluster } from "../testing/cluster.ts";

const options = {
  gates: "GenericWorkload=true,DRAWorkloadResourceClaims=true,TopologyAwareWorkloadScheduling=true",
  runtimeConfig: { "scheduling.k8s.io/v1beta1": true },
};
const rackKey = "example.com/rack";

/** Nodes of 4 cpus in racks: `r1n1`, `r1n2`, ... by how many each rack has. */
const withRacks = (racks: readonly number[], run: (cluster: TestCluster) => Promise<void>): Promise<void> =>
  withCluster(async (cluster) => {
    for (const [r, count] of racks.entries())
      for (let n = 1; n <= count; n++)
        await cluster.node(`r${r + 1}n${n}`, { labels: { [rackKey]: `r${r + 1}` } });
    await cluster.scheduler();
    await run(cluster);
  }, options);

const asks = (cpu: string, more: object = {}): object => ({
  containers: [{ name: "c", image: "i", resources: { requests: { cpu } } }],
  ...more,
});

const group = (cluster: TestCluster, minCount: number | undefined, key = rackKey): Promise<PodGroup> =>
  cluster.create(PodGroup, {
    metadata: { name: "g" },
    spec: {
      schedulingPolicy: minCount === undefined ? { basic: {} } : { gang: { minCount } },
      schedulingConstraints: { topology: [{ key }] },
    },
  });

async function members(cluster: TestCluster, names: readonly string[], spec: (name: string) => object) {
  for (const name of names)
    await cluster.pod(name, { schedulingGroup: { podGroupName: "g" }, ...spec(name) });
}

const condition = (cluster: TestCluster, wanted: "True" | "False"): Promise<string> =>
  cluster.until(`the group's condition is ${wanted}`, async () => {
    const { status } = await cluster.get(PodGroup, "g");
    const found = status?.conditions?.find(({ type }) => type === "PodGroupInitiallyScheduled");
    return found?.status === wanted && `${found.reason} ${found.message}`;
  });

const racksOf = async (cluster: TestCluster, names: readonly string[]): Promise<string[]> => {
  const nodes = await Promise.all(names.map((name) => cluster.bound(name)));
  return [...new Set(nodes.map((node) => node.slice(0, 2)))];
};

test("all pods of a gang land in one rack, though there are better nodes elsewhere", () =>
  withRacks([2, 1, 2], async (cluster) => {
    const on = (node: string): object => ({ nodeSelector: { "kubernetes.io/hostname": node } });
    await cluster.pod("busy", asks("3", on("r1n1")));
    await cluster.bound("busy");
    await group(cluster, 2);
    await members(cluster, ["a", "b"], () => asks("3"));
    assert.deepEqual(await racksOf(cluster, ["a", "b"]), ["r3"]);
    assert.equal(await condition(cluster, "True"), "Scheduled ");
    // One that comes later belongs there, too.
    await members(cluster, ["c"], () => asks("1"));
    assert.deepEqual(await racksOf(cluster, ["c"]), ["r3"]);
  }));

test("a gang that fits into no rack reports the status of the first one, and holds nothing", () =>
  withRacks([1, 1], async (cluster) => {
    await group(cluster, 2);
    await members(cluster, ["a", "b"], () => asks("3"));
    const why =
      "pod group is unschedulable, 0/2 placements are available, first placement status: minCount (2) cannot be satisfied: 1 scheduled, 0 remaining, pod group preemption: No preemption victims found for incoming preemptor";
    assert.equal(await condition(cluster, "False"), `Unschedulable ${why}`);
    assert.equal(await cluster.refused("b"), "0/1 nodes are available: 1 Insufficient cpu.");
    for (const name of ["x", "y"]) {
      await cluster.pod(name, asks("3"));
      await cluster.bound(name);
    }
    // A rack that is large enough comes.
    for (const name of ["r3n1", "r3n2"]) await cluster.node(name, { labels: { [rackKey]: "r3" } });
    assert.deepEqual(await racksOf(cluster, ["a", "b"]), ["r3"]);
  }));

test("without a node that has the label there is no placement; a label that comes lets the group go", () =>
  withRacks([1], async (cluster) => {
    await group(cluster, 1, "example.com/row");
    await members(cluster, ["a"], () => asks("1"));
    assert.equal(
      await condition(cluster, "False"),
      "Unschedulable no feasible placements found, pod group preemption: No preemption victims found for incoming preemptor",
    );
    assert.equal(await cluster.refused("a"), "no feasible placements found");
    const labels = { "example.com/row": "1" };
    await cluster.client.resource(Node).patch({ name: "r1n1" }, "merge", { metadata: { labels } });
    assert.equal(await cluster.bound("a"), "r1n1");
  }));

// Upstream: plugins/podgrouppodscount, plugins/noderesources scorePlacement.
test("the rack that takes more pods is chosen, then the one that is used more", () =>
  withRacks([1, 2, 2], async (cluster) => {
    await group(cluster, undefined);
    await members(cluster, ["a", "b"], () => asks("3"));
    const [rack] = await racksOf(cluster, ["a", "b"]);
    assert.notEqual(rack, "r1");
    await cluster.client.resource(PodGroup).patch({ namespace: "d", name: "g" }, "merge", {
      metadata: { finalizers: null },
    });
    await cluster.client.resource(PodGroup).delete({ namespace: "d", name: "g" });
    for (const name of ["a", "b"]) await cluster.remove(name);
    await cluster.pod("busy", asks("2", { nodeSelector: { [rackKey]: "r3" } }));
    await cluster.bound("busy");
    await group(cluster, undefined);
    await members(cluster, ["c"], () => asks("1"));
    // Of two nodes half of one and a quarter, against a quarter of the only one.
    assert.deepEqual(await racksOf(cluster, ["c"]), ["r3"]);
  }));

test("pods that are in two racks already are an error of their group", () =>
  withRacks([1, 1], async (cluster) => {
    await group(cluster, 3);
    for (const [name, nodeName] of [
      ["a", "r1n1"],
      ["b", "r2n1"],
    ])
      await cluster.pod(name!, { ...asks("1"), nodeName, schedulingGroup: { podGroupName: "g" } });
    await members(cluster, ["c"], () => asks("1"));
    const why =
      "cannot determine domain for already scheduled pods: more than 1 domain found for pod group: r1, r2";
    assert.equal(await condition(cluster, "False"), `SchedulerError ${why}`);
    assert.equal(await cluster.refused("c", "SchedulerError"), why);
  }));

test("devices of a rack that was tried in vain are free again", () =>
  withRacks([1, 1], async (cluster) => {
    await cluster.gpuClass();
    await cluster.slice("r1n1", 1);
    await cluster.slice("r2n1", 3);
    for (const name of ["a", "b", "shared"]) await cluster.claim(name);
    await cluster.create(PodGroup, {
      metadata: { name: "g" },
      spec: {
        schedulingPolicy: { gang: { minCount: 2 } },
        schedulingConstraints: { topology: [{ key: rackKey }] },
        resourceClaims: [{ name: "shared", resourceClaimName: "shared" }],
      },
    });
    await members(cluster, ["a", "b"], (name) => asks("1", uses("shared", name)));
    assert.deepEqual(await racksOf(cluster, ["a", "b"]), ["r2"]);
    const taken = (await cluster.list(ResourceClaim)).flatMap(devicesOf).sort();
    assert.deepEqual(
      taken,
      [0, 1, 2].map((i) => `gpu.example.com/r2n1/gpu-${i}`),
    );
    await cluster.claim("other");
    await cluster.pod("other", uses("other"));
    assert.equal(await cluster.bound("other"), "r1n1");
  }));

test("a gang makes room in one rack by preemption", () =>
  withRacks([1, 1], async (cluster) => {
    for (const name of ["x", "y"]) {
      await cluster.pod(name, asks("3", { priorityClassName: "" }));
      await cluster.bound(name);
    }
    const priorityClassName = "high";
    await cluster.create(PriorityClass, { metadata: { name: priorityClassName }, value: 100 });
    await cluster.create(PodGroup, {
      metadata: { name: "g" },
      spec: {
        schedulingPolicy: { gang: { minCount: 2 } },
        schedulingConstraints: { topology: [{ key: rackKey }] },
        priorityClassName,
      },
    });
    await members(cluster, ["a", "b"], () => asks("2", { priorityClassName }));
    const leaving = await cluster.until("a pod leaves", async () => {
      const pods = (await cluster.list(Pod)).filter((pod) => pod.metadata.deletionTimestamp !== undefined);
      return pods.length > 0 && pods;
    });
    assert.equal(leaving.length, 1);
    await cluster.remove(leaving[0]!.metadata.name);
    assert.deepEqual(await racksOf(cluster, ["a", "b"]), [leaving[0]!.spec.nodeName!.slice(0, 2)]);
  }));

test("without the gate the field is dropped, and pods go where there is room", () =>
  withCluster(
    async (cluster) => {
      for (const rack of ["r1", "r2"]) await cluster.node(`${rack}n1`, { labels: { [rackKey]: rack } });
      await cluster.scheduler();
      const { spec } = await group(cluster, 2);
      assert.equal(spec.schedulingConstraints, undefined);
      await members(cluster, ["a", "b"], () => asks("3"));
      assert.deepEqual((await racksOf(cluster, ["a", "b"])).sort(), ["r1", "r2"]);
    },
    { ...options, gates: "GenericWorkload=true" },
  ));
