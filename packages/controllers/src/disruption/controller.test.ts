import assert from "node:assert/strict";
import { test } from "node:test";
import { StatusError } from "@dray/api";
import { ReplicaSet } from "@dray/api/apps/v1";
import { Job } from "@dray/api/batch/v1";
import { Pod } from "@dray/api/core/v1";
import { PodDisruptionBudget, type PodDisruptionBudgetStatus } from "@dray/api/policy/v1";
import { timeText } from "@dray/client";
import { startDisruptionController, startJobController, startReplicaSetController } from "@dray/controllers";
import { killedAtEveryWrite, type TestCluster, withCluster } from "../testing/cluster.ts";

const onCluster = (run: (cluster: TestCluster) => Promise<void>): Promise<void> =>
  withCluster(
    (context) => Promise.all([startDisruptionController(context), startReplicaSetController(context)]),
    run,
  );

const budget = (spec: object): object => ({
  metadata: { name: "web" },
  spec: { selector: { matchLabels: { tier: "front" } }, ...spec },
});

const podSpec = { containers: [{ name: "c", image: "one" }] };

/** A ReplicaSet whose pods all serve. */
async function running(cluster: TestCluster, replicas: number): Promise<readonly Pod[]> {
  await cluster.node("a");
  await cluster.create(ReplicaSet, {
    metadata: { name: "web" },
    spec: {
      replicas,
      selector: { matchLabels: { app: "web" } },
      template: { metadata: { labels: { app: "web", tier: "front" } }, spec: podSpec },
    },
  });
  const pods = await cluster.until("pods", async () => {
    const list = await cluster.list(Pod);
    return list.length === replicas && list;
  });
  for (const pod of pods) await cluster.run(pod, "a");
  return pods;
}

/** The counts of the status, allowed, healthy, desired and expected, when they are these. */
async function counted(cluster: TestCluster, wanted: string): Promise<PodDisruptionBudgetStatus> {
  let seen = "";
  return cluster
    .until(wanted, async () => {
      const { status, metadata } = await cluster.get(PodDisruptionBudget, "web");
      const { disruptionsAllowed, currentHealthy, desiredHealthy, expectedPods } = status ?? {};
      seen = [disruptionsAllowed, currentHealthy, desiredHealthy, expectedPods].join();
      return seen === wanted && status?.observedGeneration === metadata.generation && status;
    })
    .catch((error: Error) => assert.equal(seen, wanted, error.message) as never);
}

const evict = (cluster: TestCluster, { metadata }: Pod): Promise<unknown> =>
  cluster.client.resource(Pod).post({ namespace: "d", name: metadata.name }, "eviction", {
    apiVersion: "policy/v1",
    kind: "Eviction",
    metadata: { namespace: "d", name: metadata.name },
  });

const allowed = ({ conditions }: PodDisruptionBudgetStatus): string[] =>
  (conditions ?? []).map(({ type, status, reason }) => `${type} ${status} ${reason}`);

test("the status says how many pods may go; an eviction takes one, the next is refused until it is replaced", () =>
  onCluster(async (cluster) => {
    const pods = await running(cluster, 3);
    await cluster.create(PodDisruptionBudget, budget({ minAvailable: 2 }));
    assert.deepEqual(allowed(await counted(cluster, "1,3,2,3")), ["DisruptionAllowed True SufficientPods"]);
    await evict(cluster, pods[0]!);
    await assert.rejects(evict(cluster, pods[1]!), (error) => StatusError.is(error, "TooManyRequests"));
    assert.deepEqual(allowed(await counted(cluster, "0,2,2,4")), [
      "DisruptionAllowed False InsufficientPods",
    ]);
    await cluster.finishDeletions();
    const fresh = await cluster.until("its successor", async () =>
      (await cluster.list(Pod)).find(({ status }) => status?.phase === "Pending"),
    );
    await cluster.run(fresh, "a");
    const status = await counted(cluster, "1,3,2,3");
    assert.equal(status.disruptedPods, undefined);
  }));

test("shares are of the pods that the workloads want, rounded up", () =>
  onCluster(async (cluster) => {
    await running(cluster, 5);
    await cluster.create(PodDisruptionBudget, budget({ maxUnavailable: "30%" }));
    await counted(cluster, "2,5,3,5");
    const budgets = cluster.client.resource(PodDisruptionBudget);
    const change = (spec: object): Promise<PodDisruptionBudget> =>
      budgets.patch({ namespace: "d", name: "web" }, "merge", { spec });
    await change({ maxUnavailable: null, minAvailable: "50%" });
    await counted(cluster, "2,5,3,5");
    await change({ minAvailable: null, maxUnavailable: 1 });
    await counted(cluster, "1,5,4,5");
    // Nobody wants this one: it counts as healthy, and not as expected.
    const alone = await cluster.create(Pod, {
      metadata: { name: "alone", labels: { tier: "front" } },
      spec: podSpec,
    });
    await cluster.run(alone, "a");
    await counted(cluster, "2,6,4,5");
    assert.ok((await cluster.events()).some((event) => event.startsWith("Warning UnmanagedPods ")));
  }));

test("of pods whose owner has no size nothing may go, and the condition says why", () =>
  withCluster(
    (context) => Promise.all([startDisruptionController(context), startJobController(context)]),
    async (cluster) => {
      await cluster.create(PodDisruptionBudget, budget({ maxUnavailable: 1 }));
      await counted(cluster, "0,0,0,0");
      await cluster.create(Job, {
        metadata: { name: "work" },
        spec: {
          template: {
            metadata: { labels: { tier: "front" } },
            spec: { ...podSpec, restartPolicy: "Never" },
          },
        },
      });
      const { conditions } = await cluster.until("a failure", async () => {
        const { status } = await cluster.get(PodDisruptionBudget, "web");
        return status?.conditions?.[0]?.reason === "SyncFailed" && status;
      });
      assert.equal(conditions?.[0]?.message, "jobs.batch does not implement the scale subresource");
    },
  ));

test("a pod that was to go and stays counts again after two minutes, and no longer says that it goes", () =>
  onCluster(async (cluster) => {
    const [pod] = await running(cluster, 2);
    const target = {
      type: "DisruptionTarget",
      status: "True",
      reason: "EvictionByEvictionAPI",
      lastTransitionTime: timeText(cluster.clock.now()),
    };
    await cluster.setStatus(pod!, { conditions: [target] });
    await cluster.create(PodDisruptionBudget, budget({ minAvailable: 1 }));
    await counted(cluster, "1,2,1,2");
    // As the API server notes an eviction whose deletion then failed.
    const disruptedPods = { [pod?.metadata.name ?? ""]: timeText(cluster.clock.now()) };
    await cluster.client
      .resource(PodDisruptionBudget)
      .patch(
        { namespace: "d", name: "web" },
        "merge",
        { status: { disruptedPods, disruptionsAllowed: 0 } },
        { subresource: "status" },
      );
    await counted(cluster, "0,1,1,2");
    cluster.clock.advance(121_000);
    await counted(cluster, "1,2,1,2");
    await cluster.until("taken back", async () => {
      const { status } = await cluster.get(Pod, pod?.metadata.name ?? "");
      const condition = status?.conditions?.find(({ type }) => type === "DisruptionTarget");
      return condition?.status === "False" && condition.reason === undefined;
    });
    assert.ok(
      (await cluster.events()).includes(
        "Warning NotDeleted Pod was expected by PDB d/web to be deleted but it wasn't",
      ),
    );
  }));

test("killed at any write, the next one goes on", () =>
  killedAtEveryWrite(startDisruptionController, async (cluster) => {
    await cluster.node("a");
    await cluster.create(PodDisruptionBudget, budget({ minAvailable: 1 }));
    for (const name of ["x", "y"]) {
      const pod = await cluster.create(Pod, {
        metadata: { name, labels: { tier: "front" } },
        spec: podSpec,
      });
      await cluster.run(pod, "a");
    }
    await counted(cluster, "1,2,1,2");
  }));
