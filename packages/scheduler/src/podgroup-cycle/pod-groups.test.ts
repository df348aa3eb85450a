/** Pods that are scheduled together (KEP-4671), and claims that they share (KEP-5729). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Node, Pod } from "@dray/api/core/v1";
import { ResourceClaim, ResourceSlice } from "@dray/api/resource/v1";
import { PodGroup } from "@dray/api/scheduling/v1beta1";
import { devicesOf, type TestCluster, uses, withCluster } from "../testing/cluster.ts";

const options = {
  gates: "GenericWorkload=true,DRAWorkloadResourceClaims=true",
  runtimeConfig: { "scheduling.k8s.io/v1beta1": true },
};

/** Nodes n1, n2, ... with `devices` on each, class `gpu` and a scheduler. */
const withGroups = (devices: readonly number[], run: (cluster: TestCluster) => Promise<void>) =>
  withCluster(async (cluster) => {
    await cluster.gpuClass();
    for (const [i, count] of devices.entries()) {
      await cluster.node(`n${i + 1}`);
      if (count > 0) await cluster.slice(`n${i + 1}`, count);
    }
    await cluster.scheduler();
    await run(cluster);
  }, options);

const group = (cluster: TestCluster, minCount: number | undefined, spec: object = {}): Promise<PodGroup> =>
  cluster.create(PodGroup, {
    metadata: { name: "g" },
    spec: { schedulingPolicy: minCount === undefined ? { basic: {} } : { gang: { minCount } }, ...spec },
  });

const member = (cluster: TestCluster, name: string, more: object = {}): Promise<Pod> =>
  cluster.pod(name, { schedulingGroup: { podGroupName: "g" }, ...more });

/** Reason and message of the group's condition, when it has that status. */
const condition = (cluster: TestCluster, wanted: "True" | "False"): Promise<string> =>
  cluster.until(`the group's condition is ${wanted}`, async () => {
    const { status } = await cluster.get(PodGroup, "g");
    const found = status?.conditions?.find(({ type }) => type === "PodGroupInitiallyScheduled");
    return found?.status === wanted && `${found.reason} ${found.message}`;
  });

const nodesOf = async (cluster: TestCluster): Promise<(string | undefined)[]> =>
  (await cluster.list(Pod)).map(({ spec }) => spec.nodeName);

test("pods wait without an event until the group exists and has its minimum", () =>
  withGroups([0], async (cluster) => {
    await member(cluster, "a");
    await member(cluster, "b");
    await cluster.settle();
    await group(cluster, 3);
    await cluster.settle();
    assert.deepEqual(await nodesOf(cluster), [undefined, undefined]);
    assert.deepEqual(await cluster.events(), []);
    assert.equal((await cluster.get(Pod, "a")).status?.conditions, undefined);
    await member(cluster, "c");
    for (const name of ["a", "b", "c"]) assert.equal(await cluster.bound(name), "n1");
    assert.equal(await condition(cluster, "True"), "Scheduled ");
    // One that comes later belongs to the group that is scheduled.
    await member(cluster, "d");
    assert.equal(await cluster.bound("d"), "n1");
  }));

test("a smaller minimum lets the pods go that are there", () =>
  withGroups([0], async (cluster) => {
    await group(cluster, 2);
    await member(cluster, "a");
    await cluster.settle();
    const spec = { schedulingPolicy: { gang: { minCount: 1 } } };
    await cluster.client.resource(PodGroup).patch({ namespace: "d", name: "g" }, "merge", { spec });
    assert.equal(await cluster.bound("a"), "n1");
  }));

test("a gang below its minCount takes nothing and reports why; a new node lets all of it run", () =>
  withGroups([1, 1], async (cluster) => {
    await group(cluster, 3);
    for (const name of ["a", "b", "c"]) {
      await cluster.claim(name);
      await member(cluster, name, uses(name));
    }
    const reason =
      "minCount (3) cannot be satisfied: 2 scheduled, 0 remaining, pod group preemption: No preemption victims found for incoming preemptor";
    assert.equal(await condition(cluster, "False"), `Unschedulable ${reason}`);
    // Upstream: submitPodGroupAlgorithmResult.
    for (const name of ["a", "b"])
      assert.equal(await cluster.refused(name), `pod group is unschedulable, ${reason}`);
    assert.equal(await cluster.refused("c"), "0/2 nodes are available: 2 cannot allocate all claims.");
    assert.deepEqual(await nodesOf(cluster), [undefined, undefined, undefined]);
    for (const claim of await cluster.list(ResourceClaim)) assert.deepEqual(devicesOf(claim), []);
    // Nothing is held for them.
    for (const name of ["x", "y"]) {
      await cluster.claim(name);
      await cluster.pod(name, uses(name));
      await cluster.bound(name);
    }
    await cluster.node("n3");
    await cluster.slice("n3", 3);
    for (const name of ["a", "b", "c"]) assert.equal(await cluster.bound(name), "n3");
    assert.equal(await condition(cluster, "True"), "Scheduled ");
  }));

test("a group without a gang places what fits", () =>
  withGroups([2], async (cluster) => {
    await group(cluster, undefined);
    for (const name of ["a", "b", "c"]) {
      await cluster.claim(name);
      await member(cluster, name, uses(name));
    }
    await cluster.until("two have a node", async () => (await nodesOf(cluster)).filter(Boolean).length === 2);
    const waiting = (await cluster.list(Pod)).find(({ spec }) => spec.nodeName === undefined)!;
    assert.match(
      await cluster.refused(waiting.metadata.name),
      /^0\/1 nodes .* 1 cannot allocate all claims\./,
    );
    assert.equal(await condition(cluster, "True"), "Scheduled ");
  }));

test("an error of one pod ends the attempt of its group", () =>
  withGroups([2], async (cluster) => {
    await cluster.gpuClass("odd", 'device.attributes["example.com"].missing == "x"');
    await group(cluster, 2);
    await cluster.claim("a");
    await cluster.claim("b", { exactly: { deviceClassName: "odd" } });
    for (const name of ["a", "b"]) await member(cluster, name, uses(name));
    const own = await cluster.refused("b", "SchedulerError");
    assert.match(own, /no such key: missing/);
    const forAll = `failed to schedule other pod from a pod group: ${own}`;
    assert.equal(await cluster.refused("a", "SchedulerError"), forAll);
    assert.equal(await condition(cluster, "False"), `SchedulerError ${forAll}`);
  }));

test("pods that one of a group keeps waiting are not tried without it", () =>
  withGroups([2], async (cluster) => {
    await group(cluster, 2);
    await cluster.claim("a");
    await member(cluster, "a", uses("a"));
    await member(cluster, "b", uses("b"));
    await cluster.settle();
    assert.deepEqual(await nodesOf(cluster), [undefined, undefined]);
    assert.deepEqual(await cluster.events(), []);
    await cluster.claim("b");
    assert.equal(await cluster.bound("a"), "n1");
    assert.equal(await cluster.bound("b"), "n1");
  }));

test("in 1.36 groups have another version, and a condition of another name", () =>
  withCluster(
    async (cluster) => {
      await cluster.node("n1");
      await cluster.scheduler();
      await member(cluster, "a");
      const path = "/apis/scheduling.k8s.io/v1alpha2/namespaces/d/podgroups";
      const body = {
        apiVersion: "scheduling.k8s.io/v1alpha2",
        kind: "PodGroup",
        metadata: { name: "g" },
        spec: { schedulingPolicy: { gang: { minCount: 2 } } },
      };
      await cluster.client.text("POST", path, { body });
      await cluster.settle();
      assert.deepEqual(await nodesOf(cluster), [undefined]);
      await member(cluster, "b");
      for (const name of ["a", "b"]) assert.equal(await cluster.bound(name), "n1");
      const types = await cluster.until("the condition", async () => {
        const text = await cluster.client.text("GET", `${path}/g`);
        const { status } = JSON.parse(text) as PodGroup;
        return status?.conditions?.map(({ type, status }) => `${type} ${status}`);
      });
      assert.deepEqual(types, ["PodGroupScheduled True"]);
    },
    {
      version: "1.36",
      gates: "GenericWorkload=true,GangScheduling=true",
      runtimeConfig: { "scheduling.k8s.io/v1alpha2": true },
    },
  ));

test("without the API of groups their pods are scheduled one by one, and a warning says so", () =>
  withCluster(
    async (cluster) => {
      await cluster.node("n1");
      await cluster.scheduler();
      await member(cluster, "a");
      assert.equal(await cluster.bound("a"), "n1");
      assert.match(
        cluster.problems.splice(0).join(),
        /^pods of groups are scheduled one by one: the server does not serve podgroups of scheduling\.k8s\.io /,
      );
    },
    { gates: "GenericWorkload=true" },
  ));

const shared = { resourceClaims: [{ name: "c", resourceClaimName: "c" }] };

test("pods share the claim of their group, which is reserved for the group once", () =>
  withGroups([0, 1, 0], async (cluster) => {
    const { metadata } = await group(cluster, 3, shared);
    await cluster.claim("c");
    for (const name of ["a", "b", "d"]) await member(cluster, name, uses("c"));
    for (const name of ["a", "b", "d"]) assert.equal(await cluster.bound(name), "n2");
    const { status } = await cluster.get(ResourceClaim, "c");
    const { uid } = metadata;
    assert.deepEqual(status?.reservedFor, [
      { apiGroup: "scheduling.k8s.io", resource: "podgroups", name: "g", uid },
    ]);
    assert.deepEqual(devicesOf({ status } as ResourceClaim), ["gpu.example.com/n2/gpu-0"]);
    assert.ok((await cluster.events()).every((event) => !event.startsWith("Warning")));
    // A pod of the group that comes later uses it, too; one of no group has a reservation of its own.
    await member(cluster, "e", uses("c"));
    assert.equal(await cluster.bound("e"), "n2");
    await cluster.pod("alone", uses("c"));
    assert.equal(await cluster.bound("alone"), "n2");
    const { reservedFor } = (await cluster.get(ResourceClaim, "c")).status!;
    assert.deepEqual(
      reservedFor?.map(({ name }) => name),
      ["g", "alone"],
    );
  }));

test("a claim that was made for the group is the pods' claim, one for another group is not", () =>
  withGroups([1], async (cluster) => {
    const { metadata } = await group(cluster, 2, {
      resourceClaims: [{ name: "c", resourceClaimTemplateName: "t" }],
    });
    const owner = {
      apiVersion: "scheduling.k8s.io/v1beta1",
      kind: "PodGroup",
      name: "g",
      uid: metadata.uid,
      controller: true,
    };
    const make = (name: string, owned: object): Promise<ResourceClaim> =>
      cluster.create(ResourceClaim, {
        metadata: { name, ownerReferences: [owned] },
        spec: { devices: { requests: [{ name: "gpu", exactly: { deviceClassName: "gpu" } }] } },
      });
    await make("made", owner);
    await make("others", { ...owner, name: "other" });
    const claimed = { resourceClaims: [{ name: "c", resourceClaimTemplateName: "t" }] };
    const claimOf = async (name: string, resourceClaimName: string): Promise<void> => {
      const status = { resourceClaimStatuses: [{ name: "c", resourceClaimName }] };
      const write = { subresource: "status" };
      await cluster.client.resource(Pod).patch({ namespace: "d", name }, "merge", { status }, write);
    };
    for (const name of ["a", "b"]) await member(cluster, name, claimed);
    await claimOf("a", "made");
    await claimOf("b", "others");
    await cluster.settle();
    assert.deepEqual(await nodesOf(cluster), [undefined, undefined]);
    await claimOf("b", "made");
    for (const name of ["a", "b"]) assert.equal(await cluster.bound(name), "n1");
    const { reservedFor } = (await cluster.get(ResourceClaim, "made")).status!;
    assert.deepEqual(
      reservedFor?.map(({ uid }) => uid),
      [metadata.uid],
    );
  }));

test("the claim of a group that none of its pods can use where it is, is freed", () =>
  withGroups([1, 1], async (cluster) => {
    const { metadata } = await group(cluster, 2, shared);
    await cluster.claim("c");
    const patch = { spec: { unschedulable: true } };
    await cluster.client.resource(Node).patch({ name: "n1" }, "merge", patch);
    const term = { matchFields: [{ key: "metadata.name", operator: "In", values: ["n1"] }] };
    const allocation = {
      devices: { results: [{ request: "gpu", driver: "gpu.example.com", pool: "n1", device: "gpu-0" }] },
      nodeSelector: { nodeSelectorTerms: [term] },
    };
    const { uid } = metadata;
    const reservedFor = [{ apiGroup: "scheduling.k8s.io", resource: "podgroups", name: "g", uid }];
    const claims = cluster.client.resource(ResourceClaim);
    const ref = { namespace: "d", name: "c" };
    await claims.patch(ref, "merge", { status: { allocation, reservedFor } }, { subresource: "status" });
    for (const name of ["a", "b"]) await member(cluster, name, uses("c"));
    for (const name of ["a", "b"]) assert.equal(await cluster.bound(name), "n2");
    assert.deepEqual(devicesOf(await cluster.get(ResourceClaim, "c")), ["gpu.example.com/n2/gpu-0"]);
  }));

test("pods of other priority than their group are an error of the group", () =>
  withGroups([0], async (cluster) => {
    await group(cluster, 1);
    await member(cluster, "a", { priorityClassName: "system-node-critical" });
    const text =
      "all pods in a single pod group should have the same priority as the pod group's priority, got 2000001000 and 0";
    assert.equal(await cluster.refused("a", "SchedulerError"), text);
    assert.equal(await condition(cluster, "False"), `SchedulerError ${text}`);
  }));

test("selectors of a group's claims do not block the event loop", () =>
  withGroups([0], async (cluster) => {
    const devices = Array.from({ length: 30 }, (_, i) => ({
      name: `gpu-${i}`,
      attributes: { number: { int: i } },
    }));
    await cluster.create(ResourceSlice, {
      metadata: { name: "n1-gpus" },
      spec: {
        driver: "gpu.example.com",
        nodeName: "n1",
        pool: { name: "n1", generation: 1, resourceSliceCount: 1 },
        devices,
      },
    });
    const numbers = `[${Array.from({ length: 60 }, (_, i) => i).join()}]`;
    const costly = `${numbers}.all(x, ${numbers}.all(y, [1, 2, 3, 4, 5, 6, 7, 8, 9].all(z, x + y + z > 0)))`;
    const expression = `${costly} && device.attributes["gpu.example.com"].number >= 28`;
    await cluster.gpuClass("costly", expression);
    await group(cluster, 2);
    for (const name of ["a", "b"]) {
      await cluster.claim(name, { exactly: { deviceClassName: "costly" } });
      await member(cluster, name, uses(name));
    }
    for (const name of ["a", "b"]) assert.equal(await cluster.bound(name), "n1");
    const found = (await cluster.list(ResourceClaim)).flatMap(devicesOf).sort();
    assert.deepEqual(found, ["gpu.example.com/n1/gpu-28", "gpu.example.com/n1/gpu-29"]);
  }));
