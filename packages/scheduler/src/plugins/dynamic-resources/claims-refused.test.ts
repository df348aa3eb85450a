import assert from "node:assert/strict";
import { test } from "node:test";
import { Event } from "@dray/api/core/v1";
import { ResourceClaim, ResourceSlice } from "@dray/api/resource/v1";
import { type TestCluster, uses, withCluster } from "../../testing/cluster.ts";

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

test("a claim that no node can serve has the message of kube-scheduler, and the cause", () =>
  withDevices([1, 0], async (cluster) => {
    await cluster.node("tainted", { spec: { taints: [{ key: "k", effect: "NoSchedule" }] } });
    await cluster.scheduler();
    await cluster.claim("c", { exactly: { deviceClassName: "gpu", count: 2 } });
    await cluster.pod("p", uses("c"));
    const message = refusal(3, "1 node(s) had untolerated taint(s), 2 cannot allocate all claims");
    assert.equal(await cluster.refused("p"), message);
    const cause = "Node n1: claim d/c, request gpu: wants 2 of class gpu, 1 of 1 devices suitable.";
    await cluster.until("the event", async () =>
      (await cluster.events()).includes(`Warning FailedScheduling ${message} ${cause}`),
    );
    // A slice with more devices comes.
    await cluster.slice("n2", 2);
    assert.equal(await cluster.bound("p"), "n2");
  }));

test("each of several equal pods has the cause in its event", () =>
  withDevices([1], async (cluster) => {
    await cluster.scheduler();
    const names = ["a", "b", "c"];
    for (const name of names) {
      await cluster.claim(name, { exactly: { deviceClassName: "gpu", count: 2 } });
      await cluster.pod(name, uses(name));
    }
    for (const name of names) {
      const cause = `Node n1: claim d/${name}, request gpu: wants 2 of class gpu, 1 of 1 devices suitable.`;
      await cluster.until(`the event of ${name}`, async () =>
        (await cluster.events()).some((event) => event.endsWith(cause)),
      );
    }
  }));

test("the event of a later attempt has the cause of that attempt", () =>
  withDevices([1, 0], async (cluster) => {
    await cluster.scheduler();
    await cluster.claim("c", { exactly: { deviceClassName: "gpu", count: 3 } });
    await cluster.pod("p", uses("c"));
    const message = await cluster.refused("p");
    const causeEvents = async (): Promise<Event[]> =>
      (await cluster.list(Event)).filter(({ reason }) => reason === "FailedScheduling");
    const cause = (node: string, devices: number): string =>
      `Node ${node}: claim d/c, request gpu: wants 3 of class gpu, ${devices} of ${devices} devices suitable.`;
    await cluster.until("the event", async () => (await causeEvents()).length === 1);
    // The pod is tried again, and another node lacks least now.
    await cluster.slice("n2", 2);
    const times = async (): Promise<number> =>
      (await causeEvents()).reduce((sum, { count }) => sum + Number(count ?? 1), 0);
    await cluster.until("a second attempt", async () => (await times()) === 2);
    assert.deepEqual(
      (await causeEvents()).map((event) => event.message),
      [`${message} ${cause("n1", 1)}`, `${message} ${cause("n2", 2)}`],
    );
  }));

test("a pod waits for its class", () =>
  withDevices([1], async (cluster) => {
    await cluster.scheduler();
    await cluster.claim("c", { exactly: { deviceClassName: "late" } });
    await cluster.pod("p", uses("c"));
    assert.equal(await cluster.refused("p"), refusal(1, "request gpu: device class late does not exist"));
    await cluster.gpuClass("late");
    assert.equal(await cluster.bound("p"), "n1");
  }));

test("a pod waits for its claim without an event", () =>
  withDevices([1], async (cluster) => {
    await cluster.scheduler();
    await cluster.pod("p", uses("c"));
    await cluster.settle();
    assert.deepEqual(await cluster.events(), []);
    await cluster.claim("c");
    assert.equal(await cluster.bound("p"), "n1");
  }));

test("an error of a selector fails the attempt, which is repeated", () =>
  withDevices([1], async (cluster) => {
    await cluster.gpuClass("odd", 'device.attributes["example.com"].missing == "x"');
    await cluster.scheduler();
    await cluster.claim("c", { exactly: { deviceClassName: "odd" } });
    await cluster.pod("p", uses("c"));
    assert.match(await cluster.refused("p", "SchedulerError"), /no such key: missing/);
    const tried = async (): Promise<number> => {
      const events = await cluster.client.text("GET", "/api/v1/namespaces/d/events");
      return (JSON.parse(events) as { items: { count: number }[] }).items[0]?.count ?? 0;
    };
    await cluster.until("more attempts", async () => (await tried()) >= 3);
    // Without anything that happens in the cluster: only time passes.
    await cluster.client.text("DELETE", "/apis/resource.k8s.io/v1/deviceclasses/odd");
    await cluster.gpuClass("odd");
    assert.equal(await cluster.bound("p"), "n1");
  }));

test("an error of a selector comes before a claim that the node cannot use", () =>
  withDevices([1, 1], async (cluster) => {
    await cluster.gpuClass("odd", 'device.attributes["example.com"].missing == "x"');
    await cluster.node("elsewhere");
    await cluster.claim("c");
    await cluster.claim("idle", { exactly: { deviceClassName: "gpu" } });
    const term = { matchFields: [{ key: "metadata.name", operator: "In", values: ["elsewhere"] }] };
    const allocation = {
      devices: { results: [{ request: "gpu", driver: "gpu.example.com", pool: "n1", device: "gpu-0" }] },
      nodeSelector: { nodeSelectorTerms: [term] },
    };
    await cluster.client
      .resource(ResourceClaim)
      .patch(
        { namespace: "d", name: "idle" },
        "merge",
        { status: { allocation } },
        { subresource: "status" },
      );
    await cluster.scheduler();
    await cluster.claim("broken", { exactly: { deviceClassName: "odd" } });
    await cluster.pod("p", uses("idle", "broken"));
    assert.match(await cluster.refused("p", "SchedulerError"), /no such key: missing/);
    // It was not freed in vain.
    assert.deepEqual((await cluster.get(ResourceClaim, "idle")).status?.allocation, allocation);
  }));

test("costly selectors do not block the event loop", () =>
  withDevices([], async (cluster) => {
    await cluster.node("n1");
    const devices = Array.from({ length: 100 }, (_, i) => ({
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
    const expression = `${costly} && device.attributes["gpu.example.com"].number == 98`;
    await cluster.gpuClass("costly", expression);
    const { scheduler } = await cluster.scheduler();
    await cluster.claim("c", { exactly: { deviceClassName: "costly" } });
    await cluster.pod("p", uses("c"));
    let turns = 0;
    const others = setInterval(() => (turns += scheduler.pending()["in-flight"] ?? 0), 0);
    try {
      assert.equal(await cluster.bound("p"), "n1");
    } finally {
      clearInterval(others);
    }
    // A turn has room for three.
    assert.ok(turns >= 25, `${turns} turns`);
  }));
