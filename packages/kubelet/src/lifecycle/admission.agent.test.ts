import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Event, Node, Pod, ServiceAccount } from "@dray/api/core/v1";
import { type Client, type Clock, systemClock } from "@dray/client";
import { eventuallyPasses } from "@dray/testing/eventually";
import { podBecomes, podOn, type TestCluster, testCluster } from "../testing/cluster.ts";

let cluster: TestCluster;
before(async () => {
  cluster = await testCluster();
  await cluster.admin
    .resource(ServiceAccount)
    .create({ metadata: { namespace: "default", name: "default" } });
});
after(() => cluster.close());

/** Without the heartbeat of 10 seconds, which reads the Node too. */
const clock: Clock = {
  now: systemClock.now,
  after: (milliseconds, run) => (milliseconds === 10_000 ? () => {} : systemClock.after(milliseconds, run)),
};

const containers = [{ name: "main", command: ["sleep", "1000"] }];

async function startOn(node: string, name: string, zone: string): Promise<Pod> {
  await cluster.admin.resource(Pod).create(podOn(node, name, { containers, nodeSelector: { zone } }));
  return podBecomes(cluster.admin, { namespace: "default", name }, ({ status }) =>
    ["Running", "Failed"].includes(status?.phase ?? ""),
  );
}

const label = (node: string, zone: string | null): Promise<Node> =>
  cluster.admin.resource(Node).patch({ name: node }, "merge", { metadata: { labels: { zone } } });

test("a label that the agent's watch has not brought yet counts for pods that need it", async () => {
  const client = cluster.nodeClient("n1");
  const blind: Client = {
    ...client,
    informer: (kind, options) =>
      client.informer(
        kind,
        kind.kind === "Node" ? { ...options, fieldSelector: "metadata.name=nobody" } : options,
      ),
  };
  await cluster.node("n1", { client: blind, clock });
  await label("n1", "b");
  assert.equal((await startOn("n1", "labelled", "b")).status?.phase, "Running");
});

test("the agent follows the labels of its node", async () => {
  await cluster.node("n2", { labels: { zone: "a" }, clock });
  assert.equal((await startOn("n2", "before", "a")).status?.phase, "Running");
  await label("n2", null);
  // Each may come before the event of the label.
  let attempts = 0;
  await eventuallyPasses(async () => {
    const { status } = await startOn("n2", `after-${attempts++}`, "a");
    assert.equal(status?.reason, "NodeAffinity");
  });
});

test("a pod that is rejected has a status of the refusal alone, which a restart leaves as it is", async () => {
  const node = await cluster.node("n3");
  const { status, metadata } = await startOn("n3", "rejected", "nowhere");
  const { startTime, observedGeneration, ...rest } = status ?? {};
  const message = "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector";
  assert.ok(startTime);
  assert.equal(observedGeneration, metadata.generation);
  assert.deepEqual(rest, {
    phase: "Failed",
    reason: "NodeAffinity",
    message: `Pod was rejected: ${message}`,
    qosClass: "BestEffort",
  });
  await eventuallyPasses(async () => {
    const { items } = await cluster.admin.resource(Event).list({ namespace: "default" });
    const found = items.filter(({ involvedObject }) => involvedObject.name === "rejected");
    assert.deepEqual(
      found.map(({ type, reason, message }) => [type, reason, message]),
      [["Warning", "NodeAffinity", message]],
    );
  });
  await node.stop({ leavePods: true });
  await cluster.node("n3");
  assert.equal((await startOn("n3", "next", "nowhere")).status?.phase, "Failed");
  const now = await cluster.admin.resource(Pod).get({ namespace: "default", name: "rejected" });
  assert.equal(now.metadata.resourceVersion, metadata.resourceVersion);
  await cluster.admin.resource(Pod).delete({ namespace: "default", name: "rejected" });
  await eventuallyPasses(async () => {
    const { items } = await cluster.admin.resource(Pod).list({ namespace: "default" });
    assert.ok(!items.some(({ metadata }) => metadata.name === "rejected"));
  });
});
