import assert from "node:assert/strict";
import { test } from "node:test";
import { Event, Node } from "@dray/api/core/v1";
import { timeText } from "@dray/client";
import { startNodeLifecycleController } from "@dray/controllers";
import { type TestCluster, withCluster } from "../testing/cluster.ts";

const onCluster = (run: (cluster: TestCluster) => Promise<void>): Promise<void> =>
  withCluster(startNodeLifecycleController, run);

async function setReady(cluster: TestCluster, name: string, status: string): Promise<void> {
  const conditions = [{ type: "Ready", status, lastHeartbeatTime: timeText(cluster.clock.now()) }];
  await cluster.client
    .resource(Node)
    .patch({ name }, "strategic", { status: { conditions } }, { subresource: "status" });
}

async function addNodes(cluster: TestCluster, zone: string, count: number): Promise<string[]> {
  const names = Array.from({ length: count }, (_, index) => `${zone}-${index}`);
  const labels = { "topology.kubernetes.io/zone": zone };
  for (const name of names) await cluster.node(name, { labels });
  return names;
}

/** The nodes with a taint of the effect that says that they are not ready. */
async function tainted(cluster: TestCluster, effect: string): Promise<string[]> {
  const nodes = await cluster.list(Node);
  return nodes
    .filter(({ spec }) => spec.taints?.some((taint) => taint.effect === effect))
    .map(({ metadata }) => metadata.name)
    .sort();
}

async function lose(cluster: TestCluster, names: readonly string[]): Promise<void> {
  for (const name of names) await setReady(cluster, name, "False");
  await cluster.until("no pods come to them", async () => {
    const found = await tainted(cluster, "NoSchedule");
    return names.every((name) => found.includes(name));
  });
  await cluster.settle();
}

test("when no node is ready any more nothing is evicted; when one is ready again, one node at a time", () =>
  onCluster(async (cluster) => {
    const names = await addNodes(cluster, "z", 3);
    await lose(cluster, names.slice(0, 1));
    assert.deepEqual(await tainted(cluster, "NoExecute"), ["z-0"]);
    await lose(cluster, names);
    await cluster.until("evictions are taken back", async () => {
      return (await tainted(cluster, "NoExecute")).length === 0;
    });
    cluster.clock.advance(30_000);
    await cluster.settle();
    assert.deepEqual(await tainted(cluster, "NoExecute"), []);
    await setReady(cluster, "z-2", "True");
    await cluster.until("one", async () => (await tainted(cluster, "NoExecute")).length === 1);
    await cluster.settle();
    assert.equal((await tainted(cluster, "NoExecute")).length, 1);
    cluster.clock.advance(10_000);
    await cluster.until("two", async () => (await tainted(cluster, "NoExecute")).length === 2);
    assert.deepEqual(await tainted(cluster, "NoSchedule"), ["z-0", "z-1"]);
  }));

test("in a small zone with most nodes lost no more pods are evicted; in a lost zone beside others they are", () =>
  onCluster(async (cluster) => {
    const small = await addNodes(cluster, "small", 4);
    const lost = await addNodes(cluster, "lost", 1);
    await lose(cluster, small.slice(0, 1));
    const before = ["small-0"];
    assert.deepEqual(await tainted(cluster, "NoExecute"), before);
    await lose(cluster, small.slice(1, 3));
    for (let seconds = 0; seconds < 100; seconds += 10) {
      cluster.clock.advance(10_000);
      for (const name of ["small-3", ...lost]) await setReady(cluster, name, "True");
      for (const name of small.slice(0, 3)) await setReady(cluster, name, "False");
      await cluster.settle();
    }
    assert.deepEqual(await tainted(cluster, "NoExecute"), before);
    await lose(cluster, lost);
    assert.deepEqual(await tainted(cluster, "NoExecute"), [...lost, ...before].sort());
  }));

test("nodes that come and go are events", () =>
  onCluster(async (cluster) => {
    await cluster.node("a");
    const messages = async (): Promise<string[]> =>
      (await cluster.list(Event, "default")).map(({ reason, message }) => `${reason} ${message}`);
    await cluster.until("registered", async () => (await messages()).length === 1);
    await cluster.client.resource(Node).delete({ name: "a" });
    await cluster.until("removed", async () => (await messages()).length === 2);
    assert.deepEqual((await messages()).sort(), [
      "RegisteredNode Node a event: Registered Node a in Controller",
      "RemovingNode Node a event: Removing Node a from Controller",
    ]);
  }));
