import assert from "node:assert/strict";
import { test } from "node:test";
import { Deployment, ReplicaSet } from "@dray/api/apps/v1";
import { Pod } from "@dray/api/core/v1";
import { startDeploymentController, startReplicaSetController } from "@dray/controllers";
import { type TestCluster, withCluster } from "../testing/cluster.ts";

const onCluster = (run: (cluster: TestCluster) => Promise<void>): Promise<void> =>
  withCluster(
    (context) => Promise.all([startDeploymentController(context), startReplicaSetController(context)]),
    run,
  );

function deployment(more: object = {}): object {
  return {
    metadata: { name: "web" },
    spec: {
      replicas: 3,
      selector: { matchLabels: { app: "web" } },
      template: { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "c", image: "one" }] } },
      ...more,
    },
  };
}

const ref = { namespace: "d", name: "web" };
const imageOf = (pod: Pod): string => pod.spec.containers[0]?.image ?? "";

/** Simulates scheduler and kubelets: new pods become ready, deleted pods disappear. */
async function runPods(cluster: TestCluster): Promise<void> {
  for (const pod of await cluster.list(Pod)) {
    if (pod.metadata.deletionTimestamp !== undefined)
      await cluster.client
        .resource(Pod)
        .delete({ namespace: "d", name: pod.metadata.name }, { gracePeriodSeconds: 0 })
        .catch(() => {});
    else if (pod.status?.phase === "Pending") await cluster.run(pod, "a").catch(() => {});
  }
}

async function rolledOut(cluster: TestCluster, watch = async (): Promise<void> => {}): Promise<Deployment> {
  return cluster.until("rolled out", async () => {
    await runPods(cluster);
    await watch();
    const now = await cluster.get(Deployment, "web");
    const { status, spec, metadata } = now;
    const wanted = spec.replicas ?? 1;
    return (
      status?.observedGeneration === metadata.generation &&
      (status?.updatedReplicas ?? 0) === wanted &&
      (status?.replicas ?? 0) === wanted &&
      (status?.availableReplicas ?? 0) === wanted &&
      status?.conditions?.some(
        ({ type, reason }) => type === "Progressing" && reason === "NewReplicaSetAvailable",
      ) === true &&
      now
    );
  });
}

async function changeImage(cluster: TestCluster, image: string): Promise<void> {
  await cluster.client
    .resource(Deployment)
    .patch(ref, "strategic", { spec: { template: { spec: { containers: [{ name: "c", image }] } } } });
}

test("a Deployment gets a ReplicaSet and that its pods; status and conditions say that it is available", () =>
  onCluster(async (cluster) => {
    await cluster.node("a");
    await cluster.create(Deployment, deployment());
    const { status, metadata } = await rolledOut(cluster);
    const [set] = await cluster.list(ReplicaSet);
    const hash = set?.metadata.labels?.["pod-template-hash"];
    assert.match(set?.metadata.name ?? "", new RegExp(`^web-${hash}$`));
    assert.deepEqual(set?.spec.selector?.matchLabels, { app: "web", "pod-template-hash": hash });
    assert.equal(metadata.annotations?.["deployment.kubernetes.io/revision"], "1");
    const { conditions, ...counts } = status ?? {};
    assert.deepEqual(counts, {
      observedGeneration: 1,
      replicas: 3,
      updatedReplicas: 3,
      readyReplicas: 3,
      availableReplicas: 3,
      terminatingReplicas: 0,
    });
    const summary = conditions?.map(({ type, status: state, reason }) => `${type} ${state} ${reason}`).sort();
    assert.deepEqual(summary, [
      "Available True MinimumReplicasAvailable",
      "Progressing True NewReplicaSetAvailable",
    ]);
    const pods = await cluster.list(Pod);
    for (const pod of pods) assert.match(pod.metadata.name, new RegExp(`^web-${hash}-[a-z0-9]{5}$`));
    const events = await cluster.events();
    assert.ok(events.includes(`Normal ScalingReplicaSet Scaled up replica set web-${hash} from 0 to 3`));
    assert.equal(
      events.filter((event) => event.startsWith("Normal SuccessfulCreate Created pod: web-")).length,
      3,
    );
  }));

test("a rolling update stays within surge and unavailability; going back takes the old set", () =>
  onCluster(async (cluster) => {
    await cluster.node("a");
    const rollingUpdate = { maxSurge: 1, maxUnavailable: 1 };
    await cluster.create(
      Deployment,
      deployment({ replicas: 4, strategy: { type: "RollingUpdate", rollingUpdate } }),
    );
    await rolledOut(cluster);
    await changeImage(cluster, "two");
    const after = await rolledOut(cluster, async () => {
      const sets = await cluster.list(ReplicaSet);
      const sizes = sets.reduce((total, { spec }) => total + (spec.replicas ?? 0), 0);
      assert.ok(sizes <= 5, `${sizes} pods wanted at once`);
      const activePods = (await cluster.list(Pod)).filter(
        ({ metadata }) => metadata.deletionTimestamp === undefined,
      );
      const ready = activePods.filter(({ status }) => status?.phase === "Running").length;
      assert.ok(ready >= 3, `only ${ready} serve`);
    });
    assert.equal(after.metadata.annotations?.["deployment.kubernetes.io/revision"], "2");
    assert.deepEqual((await cluster.list(Pod)).map(imageOf), ["two", "two", "two", "two"]);
    await changeImage(cluster, "one");
    const back = await rolledOut(cluster);
    assert.equal(back.metadata.annotations?.["deployment.kubernetes.io/revision"], "3");
    assert.equal((await cluster.list(ReplicaSet)).length, 2);
  }));

test("pods that are being deleted are counted until they are gone", () =>
  onCluster(async (cluster) => {
    await cluster.node("a");
    await cluster.create(Deployment, deployment({ replicas: 2 }));
    await rolledOut(cluster);
    await cluster.client.resource(Deployment).patch(ref, "merge", { spec: { replicas: 0 } });
    const terminating = async (count: number): Promise<boolean> => {
      const [set] = await cluster.list(ReplicaSet);
      const { status } = await cluster.get(Deployment, "web");
      return status?.terminatingReplicas === count && set?.status?.terminatingReplicas === count;
    };
    await cluster.until("two go", () => terminating(2));
    await cluster.finishDeletions();
    await cluster.until("none goes", () => terminating(0));
  }));

test("Recreate stops all old pods before the first new one", () =>
  onCluster(async (cluster) => {
    await cluster.node("a");
    await cluster.create(Deployment, deployment({ strategy: { type: "Recreate" } }));
    await rolledOut(cluster);
    await changeImage(cluster, "two");
    await rolledOut(cluster, async () => {
      assert.ok(new Set((await cluster.list(Pod)).map(imageOf)).size <= 1);
    });
  }));

test("scaling changes the set, and scaling to nothing leaves nothing", () =>
  onCluster(async (cluster) => {
    await cluster.node("a");
    await cluster.create(Deployment, deployment());
    await rolledOut(cluster);
    const deployments = cluster.client.resource(Deployment);
    await deployments.patch(ref, "merge", { spec: { replicas: 5 } }, { subresource: "scale" });
    assert.equal((await rolledOut(cluster)).status?.availableReplicas, 5);
    await deployments.patch(ref, "merge", { spec: { replicas: 0 } }, { subresource: "scale" });
    await rolledOut(cluster);
    await cluster.until("no pods", async () => {
      await runPods(cluster);
      return (await cluster.list(Pod)).length === 0;
    });
    assert.equal((await cluster.list(ReplicaSet)).length, 1);
  }));

test("a rollout past its deadline reports ProgressDeadlineExceeded", () =>
  onCluster(async (cluster) => {
    await cluster.node("a");
    await cluster.create(Deployment, deployment({ progressDeadlineSeconds: 60 }));
    await cluster.until("three pods", async () => (await cluster.list(Pod)).length === 3);
    await cluster.settle();
    cluster.clock.advance(62_000);
    const condition = await cluster.until("timed out", async () => {
      const { status } = await cluster.get(Deployment, "web");
      return status?.conditions?.find(({ reason }) => reason === "ProgressDeadlineExceeded");
    });
    assert.equal(condition.status, "False");
    assert.match(condition.message ?? "", /^ReplicaSet "web-.*" has timed out progressing\.$/);
  }));

test("a paused Deployment makes no new set until it is resumed", () =>
  onCluster(async (cluster) => {
    await cluster.node("a");
    await cluster.create(Deployment, deployment());
    await rolledOut(cluster);
    const deployments = cluster.client.resource(Deployment);
    await deployments.patch(ref, "merge", { spec: { paused: true } });
    await changeImage(cluster, "two");
    await cluster.settle();
    assert.equal((await cluster.list(ReplicaSet)).length, 1);
    await deployments.patch(ref, "merge", { spec: { paused: false } });
    await rolledOut(cluster);
    assert.deepEqual((await cluster.list(Pod)).map(imageOf), ["two", "two", "two"]);
  }));

test("a ReplicaSet adopts pods that match, lets go those that no longer do, and spares the better ones", () =>
  onCluster(async (cluster) => {
    await cluster.node("a");
    const container = { containers: [{ name: "c", image: "one" }] };
    const stray = await cluster.create(Pod, {
      metadata: { name: "stray", labels: { app: "rs" } },
      spec: container,
    });
    const set = await cluster.create(ReplicaSet, {
      metadata: { name: "rs" },
      spec: {
        replicas: 2,
        selector: { matchLabels: { app: "rs" } },
        template: { metadata: { labels: { app: "rs" } }, spec: container },
      },
    });
    await cluster.until("two pods", async () => {
      const pods = await cluster.list(Pod);
      return (
        pods.length === 2 &&
        pods.every(({ metadata }) => metadata.ownerReferences?.[0]?.uid === set.metadata.uid)
      );
    });
    await cluster.run(stray, "a");
    const sets = cluster.client.resource(ReplicaSet);
    await sets.patch({ namespace: "d", name: "rs" }, "merge", { spec: { replicas: 1 } });
    await cluster.until("the pending one goes", async () => {
      const pods = await cluster.list(Pod);
      return pods.length === 1 && pods[0]?.metadata.name === "stray";
    });
    await cluster.client
      .resource(Pod)
      .patch({ namespace: "d", name: "stray" }, "merge", { metadata: { labels: { app: "other" } } });
    const { metadata } = await cluster.until("let go and replaced", async () => {
      const pods = await cluster.list(Pod);
      return pods.length === 2 && pods.find((pod) => pod.metadata.name === "stray");
    });
    assert.deepEqual(metadata.ownerReferences ?? [], []);
  }));

test("pods that their nodes reject are replaced ever more slowly, and others at once", () =>
  withCluster(startReplicaSetController, async (cluster) => {
    await cluster.node("a");
    const template = {
      metadata: { labels: { app: "x" } },
      spec: { nodeName: "a", containers: [{ name: "c", image: "i" }] },
    };
    const spec = { replicas: 2, selector: { matchLabels: { app: "x" } }, template };
    await cluster.create(ReplicaSet, { metadata: { name: "x" }, spec });
    const active = async () => (await cluster.list(Pod)).filter(({ status }) => status?.phase !== "Failed");
    const reject = async (): Promise<void> => {
      for (const pod of await active())
        await cluster.setStatus(pod, { phase: "Failed", reason: "NodeAffinity", message: "no" });
      // The controller has seen it, while no time has passed.
      for (let tries = 0; (await cluster.get(ReplicaSet, "x")).status?.replicas !== 0; tries++) {
        assert.ok(tries < 100);
        await cluster.settle();
      }
    };
    const replaced = () => cluster.until("replaced", async () => (await active()).length === 2);
    await replaced();
    for (let sync = 0; sync < 12; sync++) {
      const delay = Math.min(100 * 2 ** sync, 60_000);
      await reject();
      cluster.clock.advance(delay - 1);
      await cluster.settle();
      assert.deepEqual(await active(), [], `not within ${delay} ms`);
      cluster.clock.advance(1);
      await replaced();
    }
    // More replicas do not wait for those.
    await reject();
    await cluster.client
      .resource(ReplicaSet)
      .patch({ namespace: "d", name: "x" }, "merge", { spec: { replicas: 5 } });
    await cluster.until("scaled", async () => (await active()).length === 3);
    // A pod that ran is replaced at once, and so is a rejected one after a time without.
    cluster.clock.advance(60_000);
    await cluster.until("all", async () => (await active()).length === 5);
    const [ran] = await active();
    await cluster.setStatus(ran!, {
      phase: "Failed",
      reason: "Evicted",
      containerStatuses: [{ name: "c", image: "i", imageID: "", ready: false, restartCount: 0 }],
    });
    await cluster.until("all again", async () => (await active()).length === 5);
    cluster.clock.advance(121_000);
    await reject();
    cluster.clock.advance(100);
    await cluster.until("all again", async () => (await active()).length === 5);
  }));
