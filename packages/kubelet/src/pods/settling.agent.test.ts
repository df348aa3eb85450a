import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { featuresOf } from "@dray/api";
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
  // Their containers never become older while `isFresh`.
  const runtime = (...[surroundings]: Parameters<ReturnType<typeof hostRuntime>>): NodeRuntime => {
    const made = hostRuntime({ images: [] })(surroundings);
    const list = made.service.listContainers.bind(made.service);
    made.service.listContainers = async (uid) =>
      (await list(uid)).map((one) => {
        if (one.state !== "running" || !isFresh) return one;
        observations++;
        return { ...one, startedAt: Date.now() };
      });
    return made;
  };
  for (const version of ["1.35", "1.36"] as const)
    await cluster.node(`node-${version}`, { runtime, features: featuresOf(version, new Map()) });
});
after(() => cluster.close());

const sleeper = (node: string, name: string): ReturnType<typeof podOn> =>
  podOn(node, name, { containers: [{ name: "main", command: ["sleep", "1000"] }] });
const isReady = (pod: Pod): boolean => pod.status?.containerStatuses?.[0]?.ready === true;

test("from 1.36 on a pod is reported as running as soon as its container runs", async () => {
  const ref = { namespace: "default", name: "at-once" };
  await cluster.admin.resource(Pod).create(sleeper("node-1.36", ref.name));
  await podBecomes(cluster.admin, ref, isReady);
});

test("before, a pod is not reported as running before its container has run for a moment", async () => {
  const ref = { namespace: "default", name: "young" };
  const pods = cluster.admin.resource(Pod);
  const earlier = observations;
  await pods.create(sleeper("node-1.35", ref.name));
  await eventuallyPasses(() => assert.ok(observations > earlier + 10));
  const { status } = await pods.get(ref);
  assert.equal(status?.phase, "Pending");
  assert.notEqual(status?.containerStatuses?.[0]?.ready, true);
  isFresh = false;
  await podBecomes(cluster.admin, ref, isReady);
});
