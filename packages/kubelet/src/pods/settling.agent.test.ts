import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Pod, ServiceAccount } from "@dray/api/core/v1";
import { eventuallyPasses } from "@dray/testing/eventually";
import { hostRuntime } from "../index.ts";
import type { NodeRuntime } from "../runtime/service.ts";
import { podBecomes, podOn, type TestCluster, testCluster } from "../testing/cluster.ts";

let cluster: TestCluster;
let isFresh = true;
let observations = 0;
before(async () => {
  cluster = await testCluster();
  const account = { metadata: { namespace: "default", name: "default" } };
  await cluster.admin.resource(ServiceAccount).create(account);
  await cluster.node("n1", {
    runtime: (surroundings): NodeRuntime => {
      const made = hostRuntime({ images: [] })(surroundings);
      const list = made.service.listContainers.bind(made.service);
      made.service.listContainers = async (uid) =>
        (await list(uid)).map((one) => {
          if (one.state !== "running" || !isFresh) return one;
          observations++;
          return { ...one, startedAt: Date.now() };
        });
      return made;
    },
  });
});
after(() => cluster.close());

test("a pod is not reported as running before its container has run for a moment", async () => {
  const ref = { namespace: "default", name: "young" };
  const pods = cluster.admin.resource(Pod);
  await pods.create(podOn("n1", ref.name, { containers: [{ name: "main", command: ["sleep", "1000"] }] }));
  await eventuallyPasses(() => assert.ok(observations > 10));
  const { status } = await pods.get(ref);
  assert.equal(status?.phase, "Pending");
  assert.notEqual(status?.containerStatuses?.[0]?.ready, true);
  isFresh = false;
  await podBecomes(cluster.admin, ref, (pod) => pod.status?.containerStatuses?.[0]?.ready === true);
});
