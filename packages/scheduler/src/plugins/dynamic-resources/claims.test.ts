import assert from "node:assert/strict";
import { test } from "node:test";
import { Node, Pod } from "@dray/api/core/v1";
import { ResourceClaim } from "@dray/api/resource/v1";
import { devicesOf, type TestCluster, uses, withCluster } from "../../testing/cluster.ts";

/** Nodes n1, n2, ... with `devices` on each, and class `gpu`. */
async function withDevices(devices: number[], run: (cluster: TestCluster) => Promise<void>): Promise<void> {
  await withCluster(async (cluster) => {
    await cluster.gpuClass();
    for (const [i, count] of devices.entries()) {
      await cluster.node(`n${i + 1}`);
      if (count > 0) await cluster.slice(`n${i + 1}`, count);
    }
    await run(cluster);
  });
}

const refusal = (nodes: number, reasons: string): string =>
  `0/${nodes} nodes are available: ${reasons}. preemption: 0/${nodes} nodes are available: ` +
  `${nodes} Preemption is not helpful for scheduling.`;

/**
 * Every device that claims have, and those of bound pods among them. Fails if two bound pods' claims share
 * one.
 */
async function inUse(cluster: TestCluster): Promise<{ all: string[]; bound: string[] }> {
  const [claims, pods] = [await cluster.list(ResourceClaim), await cluster.list(Pod)];
  const names = new Set(pods.filter((pod) => pod.spec.nodeName).map((pod) => pod.metadata.uid));
  const all = claims.flatMap(devicesOf);
  const bound = claims
    .filter((claim) => claim.status?.reservedFor?.some(({ uid }) => names.has(uid)))
    .flatMap(devicesOf);
  assert.equal(new Set(bound).size, bound.length, `a device was given twice: ${bound.sort().join(" ")}`);
  return { all, bound };
}

test("a claim is allocated, protected and reserved before its pod is bound", () =>
  withDevices([0, 1], async (cluster) => {
    await cluster.scheduler();
    await cluster.claim("c");
    const pod = await cluster.pod("p", uses("c"));
    assert.equal(await cluster.bound("p"), "n2");
    const { metadata, status } = await cluster.get(ResourceClaim, "c");
    assert.deepEqual(metadata.finalizers, ["resource.kubernetes.io/delete-protection"]);
    assert.deepEqual(status?.reservedFor, [{ resource: "pods", name: "p", uid: pod.metadata.uid }]);
    assert.deepEqual(status?.allocation, {
      allocationTimestamp: "2026-01-01T00:00:00Z",
      devices: {
        results: [{ request: "gpu", driver: "gpu.example.com", pool: "n2", device: "gpu-0" }],
      },
      nodeSelector: {
        nodeSelectorTerms: [{ matchFields: [{ key: "metadata.name", operator: "In", values: ["n2"] }] }],
      },
    });
  }));

test("pods that share a claim go to its node, also when they come at the same moment", () =>
  withDevices([1, 1], async (cluster) => {
    await cluster.claim("c");
    await Promise.all(["a", "b", "c"].map((name) => cluster.pod(name, uses("c"))));
    await cluster.scheduler();
    const nodes = [await cluster.bound("a"), await cluster.bound("b"), await cluster.bound("c")];
    assert.equal(new Set(nodes).size, 1);
    const { status } = await cluster.get(ResourceClaim, "c");
    assert.deepEqual(status?.reservedFor?.map(({ name }) => name).sort(), ["a", "b", "c"]);
  }));

test("a pod shares a claim that was allocated without a time, before binding conditions", () =>
  withDevices([0, 1], async (cluster) => {
    await cluster.claim("c");
    const first = await cluster.pod("first", { nodeName: "n2", ...uses("c") });
    const result = { request: "gpu", driver: "gpu.example.com", pool: "n2", device: "gpu-0" };
    const onNode = { matchFields: [{ key: "metadata.name", operator: "In", values: ["n2"] }] };
    const allocation = {
      devices: { results: [result] },
      nodeSelector: { nodeSelectorTerms: [onNode] },
    };
    const reservedFor = [{ resource: "pods", name: "first", uid: first.metadata.uid }];
    await cluster.claimStatus("c", { allocation, reservedFor });
    await cluster.pod("second", uses("c"));
    await cluster.scheduler();
    assert.equal(await cluster.bound("second"), "n2");
    const { status } = await cluster.get(ResourceClaim, "c");
    assert.deepEqual(status?.allocation, allocation);
  }));

test("two claims of a pod are served by one node", () =>
  withDevices([1, 2, 1], async (cluster) => {
    await cluster.scheduler();
    await cluster.claim("c1");
    await cluster.claim("c2");
    await cluster.pod("p", uses("c1", "c2"));
    assert.equal(await cluster.bound("p"), "n2");
    assert.equal((await inUse(cluster)).bound.length, 2);
  }));

test("the first alternative of a list is worth more than the emptier node", () =>
  withCluster(async (cluster) => {
    await cluster.gpuClass("good", 'device.driver == "gpu.example.com"');
    await cluster.gpuClass("poor");
    for (const name of ["n1", "n2"]) await cluster.node(name);
    await cluster.slice("n1", 1);
    await cluster.slice("n2", 1, "old.example.com");
    await cluster.scheduler();
    await cluster.pod("load", {
      nodeName: "n1",
      containers: [{ name: "c", image: "i", resources: { requests: { cpu: "400m", memory: "800Mi" } } }],
    });
    await cluster.claim("c", {
      firstAvailable: [
        { name: "best", deviceClassName: "good" },
        { name: "other", deviceClassName: "poor" },
      ],
    });
    await cluster.pod("p", uses("c"));
    assert.equal(await cluster.bound("p"), "n1");
    const { status } = await cluster.get(ResourceClaim, "c");
    assert.equal(status?.allocation?.devices?.results?.[0]?.request, "gpu/best");
  }));

test("a scheduler that starts late finds claims that came before and after their pods", () =>
  withDevices([2], async (cluster) => {
    await cluster.claim("before");
    await cluster.pod("p", uses("before"));
    await cluster.pod("q", uses("after"));
    await cluster.claim("after");
    // It hears of the claims last.
    await cluster.scheduler(async (_method, url) => {
      if (url.includes("/resourceclaims?")) await cluster.settle();
    });
    assert.equal(await cluster.bound("p"), "n1");
    assert.equal(await cluster.bound("q"), "n1");
  }));

test("a device that becomes free wakes the pod that waits for one", () =>
  withDevices([1], async (cluster) => {
    await cluster.scheduler();
    await cluster.claim("c1");
    await cluster.claim("c2");
    await cluster.pod("p1", uses("c1"));
    await cluster.bound("p1");
    await cluster.pod("p2", uses("c2"));
    assert.equal(await cluster.refused("p2"), refusal(1, "1 cannot allocate all claims"));
    cluster.clock.advance(60_000);
    await cluster.settle();
    assert.equal((await cluster.get(Pod, "p2")).spec.nodeName, undefined);
    await cluster.remove("p1", "c1");
    assert.equal(await cluster.bound("p2"), "n1");
  }));

test("an idle allocation on an infeasible node is given up", () =>
  withDevices([1, 1], async (cluster) => {
    const first = await cluster.scheduler();
    await cluster.claim("c");
    await cluster.pod("p", uses("c"));
    const node = await cluster.bound("p");
    await first.stop();
    await cluster.remove("p");
    const ref = { namespace: "d", name: "c" };
    const idle = { status: { reservedFor: null } };
    await cluster.client.resource(ResourceClaim).patch(ref, "merge", idle, { subresource: "status" });
    await cluster.client.resource(Node).patch({ name: node }, "merge", { spec: { unschedulable: true } });
    await cluster.scheduler();
    await cluster.pod("q", uses("c"));
    assert.equal(await cluster.bound("q"), node === "n1" ? "n2" : "n1");
    await cluster.until("the event", async () =>
      (await cluster.events()).some((event) => event.includes("deallocation of ResourceClaim completed")),
    );
  }));

test("an allocation that is in use is kept", () =>
  withDevices([1, 1], async (cluster) => {
    await cluster.scheduler();
    await cluster.claim("c");
    await cluster.pod("p", uses("c"));
    const node = await cluster.bound("p");
    await cluster.client.resource(Node).patch({ name: node }, "merge", { spec: { unschedulable: true } });
    const allocated = await cluster.get(ResourceClaim, "c");
    await cluster.pod("q", uses("c"));
    assert.equal(
      await cluster.refused("q"),
      refusal(2, "1 node(s) were unschedulable, 1 resourceclaim not available on the node"),
    );
    assert.deepEqual(await cluster.get(ResourceClaim, "c"), allocated);
  }));

test("an allocation is not freed for a node that cannot serve other claims of the pod", () =>
  withDevices([1, 0], async (cluster) => {
    await cluster.scheduler();
    await cluster.claim("c");
    await cluster.pod("first", uses("c"));
    assert.equal(await cluster.bound("first"), "n1");
    await cluster.client
      .resource(ResourceClaim)
      .patch(
        { namespace: "d", name: "c" },
        "merge",
        { status: { reservedFor: null } },
        { subresource: "status" },
      );
    await cluster.claim("more");
    await cluster.pod("p", uses("c", "more"));
    assert.equal(await cluster.refused("p"), refusal(2, "2 cannot allocate all claims"));
    assert.deepEqual(devicesOf(await cluster.get(ResourceClaim, "c")), ["gpu.example.com/n1/gpu-0"]);
  }));

test("after a failure every claim is released that was reserved for the pod, also by an earlier attempt", () =>
  withDevices([2], async (cluster) => {
    const { beforeAnswers } = await cluster.scheduler();
    await cluster.claim("c1");
    await cluster.claim("c2");
    const pod = await cluster.pod("p", { ...uses("c1", "c2"), schedulingGates: [{ name: "later" }] });
    const { name, uid } = pod.metadata;
    const allocation = {
      devices: { results: [{ request: "gpu", driver: "gpu.example.com", pool: "n1", device: "gpu-0" }] },
    };
    const status = { allocation, reservedFor: [{ resource: "pods", name, uid }] };
    await cluster.client
      .resource(ResourceClaim)
      .patch({ namespace: "d", name: "c1" }, "merge", { status }, { subresource: "status" });
    let done = false;
    beforeAnswers(async (method, url) => {
      if (done || method !== "PUT" || !url.endsWith("/c2")) return;
      done = true;
      await cluster.client.resource(ResourceClaim).delete({ namespace: "d", name: "c2" });
    });
    const gates = { spec: { schedulingGates: null } };
    await cluster.client.resource(Pod).patch({ namespace: "d", name }, "merge", gates);
    await cluster.until("the release", async () => {
      const claim = await cluster.get(ResourceClaim, "c1");
      return done && claim.status?.allocation !== undefined && !claim.status.reservedFor?.length;
    });
  }));

test("an allocation whose answer is lost counts", () =>
  withDevices([1], async (cluster) => {
    const { loseAnswers } = await cluster.scheduler();
    let lost = 0;
    loseAnswers((method, url) => method === "PUT" && url.includes("/c/status") && lost++ === 0);
    await cluster.claim("c");
    await cluster.pod("p", uses("c"));
    assert.equal(await cluster.bound("p"), "n1");
    assert.equal(lost, 2);
    assert.deepEqual(
      (await cluster.events()).filter((event) => event.startsWith("Warning")),
      [],
    );
  }));

test("a claim that is deallocated before its pod is bound does not count", () =>
  withDevices([1], async (cluster) => {
    const { beforeAnswers } = await cluster.scheduler();
    let done = false;
    beforeAnswers(async (method, url) => {
      if (done || method !== "PUT" || !url.includes("/c/status")) return;
      done = true;
      await cluster.deallocate("c");
      // The watch tells of it before the scheduler has the answer to its write.
      await cluster.settle();
    });
    await cluster.claim("c");
    await cluster.pod("p", uses("c"));
    assert.equal(
      await cluster.refused("p", "SchedulerError"),
      "claim d/c got deallocated elsewhere in the meantime",
    );
    assert.equal(await cluster.bound("p"), "n1");
    assert.deepEqual((await inUse(cluster)).bound, ["gpu.example.com/n1/gpu-0"]);
  }));

test("the next scheduler uses the allocation of a pod that was not bound", () =>
  withDevices([1, 1, 1], async (cluster) => {
    const { beforeAnswers, kill } = await cluster.scheduler();
    // It dies when the claim is written and the pod is not bound.
    beforeAnswers(async (method, url) => {
      if (method === "PUT" && url.includes("/c/status")) kill();
    });
    await cluster.claim("c");
    await cluster.pod("p", uses("c"));
    const before = await cluster.until("the allocation", async () => {
      const claim = await cluster.get(ResourceClaim, "c");
      return claim.status?.allocation !== undefined && claim;
    });
    assert.equal((await cluster.get(Pod, "p")).spec.nodeName, undefined);
    await cluster.scheduler();
    assert.equal(`gpu.example.com/${await cluster.bound("p")}/gpu-0`, devicesOf(before)[0]);
    assert.deepEqual(await cluster.get(ResourceClaim, "c"), before);
  }));

test("a device that another scheduler gives away in the same moment is given up", () =>
  withDevices([1], async (cluster) => {
    const { beforeAnswers } = await cluster.scheduler();
    const allocation = {
      devices: { results: [{ request: "gpu", driver: "gpu.example.com", pool: "n1", device: "gpu-0" }] },
    };
    beforeAnswers(async (method, url) => {
      // Ours is chosen, and not written yet.
      if (method !== "PUT" || !url.endsWith("/c")) return;
      const ref = { namespace: "d", name: "theirs" };
      const reservedFor = [{ resource: "pods", name: "x", uid: "x" }];
      await cluster.client
        .resource(ResourceClaim)
        .patch(ref, "merge", { status: { allocation, reservedFor } }, { subresource: "status" });
    });
    await cluster.claim("theirs");
    await cluster.claim("c");
    await cluster.pod("p", uses("c"));
    assert.equal(
      await cluster.refused("p", "SchedulerError"),
      "device gpu.example.com/n1/gpu-0 of claim d/c was allocated to claim d/theirs, too",
    );
    assert.deepEqual(devicesOf(await cluster.get(ResourceClaim, "c")), []);
    assert.equal(await cluster.refused("p"), refusal(1, "1 cannot allocate all claims"));
    await cluster.deallocate("theirs");
    assert.equal(await cluster.bound("p"), "n1");
  }));

test("a device that was written for a claim stays reserved until the watch reports the claim", () =>
  withDevices([2], async (cluster) => {
    const { beforeAnswers, holdClaims } = await cluster.scheduler();
    for (const name of ["c1", "c2", "c3"]) await cluster.claim(name);
    await cluster.settle();
    const tell = holdClaims();
    let failed = false;
    beforeAnswers(async (method, url) => {
      if (!failed && method === "PUT" && url.endsWith("/c1")) {
        failed = true;
        await cluster.client.resource(ResourceClaim).delete({ namespace: "d", name: "c2" });
      }
    });
    await cluster.pod("p", uses("c1", "c2"));
    await cluster.refused("p", "SchedulerError");
    await cluster.pod("q", uses("c3"));
    const allocated = await cluster.until("the allocation of c3", async () => {
      const devices = devicesOf(await cluster.get(ResourceClaim, "c3"));
      return devices.length > 0 && devices;
    });
    assert.notDeepEqual(allocated, devicesOf(await cluster.get(ResourceClaim, "c1")));
    tell();
    assert.equal(await cluster.bound("q"), "n1");
  }));

test("of several claims those that were written before a failure are released", () =>
  withDevices([3], async (cluster) => {
    const { beforeAnswers } = await cluster.scheduler();
    await cluster.claim("c1");
    await cluster.claim("c2");
    // Somebody deletes the second claim while the first is written.
    let done = false;
    beforeAnswers(async (method, url) => {
      if (!done && method === "PUT" && url.endsWith("/c1")) {
        done = true;
        await cluster.client.resource(ResourceClaim).delete({ namespace: "d", name: "c2" });
      }
    });
    await cluster.pod("p", uses("c1", "c2"));
    const c1 = await cluster.until("the release", async () => {
      const claim = await cluster.get(ResourceClaim, "c1");
      return done && claim.status?.allocation && !claim.status.reservedFor?.length && claim;
    });
    // Its device is not for others; the claim that comes again gets another.
    await cluster.claim("c2");
    await cluster.bound("p");
    const { all, bound } = await inUse(cluster);
    assert.deepEqual(all.toSorted(), bound.toSorted());
    assert.equal(all.length, 2);
    assert.deepEqual(devicesOf(await cluster.get(ResourceClaim, "c1")), devicesOf(c1));
  }));
