import assert from "node:assert/strict";
import { test } from "node:test";
import { Pod } from "@dray/api/core/v1";
import { PodGroup } from "@dray/api/scheduling/v1beta1";
import {
  type Controller,
  type ControllerContext,
  servedResources,
  startPodGroupProtectionController,
} from "@dray/controllers";
import { type TestCluster, withCluster } from "../testing/cluster.ts";
import { afterEachCrash } from "../testing/crashes.ts";

const withGroups = {
  featureGates: { GenericWorkload: true },
  runtimeConfig: { "scheduling.k8s.io/v1beta1": true },
};

const start = async (context: ControllerContext): Promise<Controller> =>
  startPodGroupProtectionController(context, await servedResources(context));

async function groupWithPods(cluster: TestCluster, ...names: string[]): Promise<void> {
  await cluster.create(PodGroup, { metadata: { name: "g" }, spec: { schedulingPolicy: { basic: {} } } });
  for (const name of names) {
    const spec = { containers: [{ name: "c", image: "i" }], schedulingGroup: { podGroupName: "g" } };
    await cluster.create(Pod, { metadata: { name }, spec });
  }
}

const isGone = async (cluster: TestCluster): Promise<boolean> =>
  (await cluster.find(PodGroup, "g")) === undefined;

test("a group that is being deleted stays until its last pod has ended or is gone", () =>
  withCluster(
    start,
    async (cluster) => {
      await groupWithPods(cluster, "p", "q");
      await cluster.client.resource(PodGroup).delete({ namespace: "d", name: "g" });
      await cluster.settle();
      await cluster.setStatus(await cluster.get(Pod, "p"), { phase: "Succeeded" });
      await cluster.settle();
      assert.equal(await isGone(cluster), false);
      await cluster.client.resource(Pod).delete({ namespace: "d", name: "q" });
      await cluster.until("the group is gone", () => isGone(cluster));
      await cluster.get(Pod, "p");
    },
    withGroups,
  ));

test("a group without pods goes at once", () =>
  withCluster(
    start,
    async (cluster) => {
      await groupWithPods(cluster);
      await cluster.client.resource(PodGroup).delete({ namespace: "d", name: "g" });
      await cluster.until("the group is gone", () => isGone(cluster));
    },
    withGroups,
  ));

test("killed before it lets go, it goes on", () =>
  afterEachCrash(
    start,
    {
      async before(cluster) {
        await groupWithPods(cluster);
        await cluster.client.resource(PodGroup).delete({ namespace: "d", name: "g" });
      },
      done: isGone,
    },
    withGroups,
  ));
