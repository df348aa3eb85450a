import assert from "node:assert/strict";
import { test } from "node:test";
import { ControllerRevision, DaemonSet } from "@dray/api/apps/v1";
import { Node, Pod } from "@dray/api/core/v1";
import { startDaemonSetController } from "@dray/controllers";
import { type TestCluster, withCluster } from "../testing/cluster.ts";

const onCluster = (run: (cluster: TestCluster) => Promise<void>): Promise<void> =>
  withCluster(startDaemonSetController, run);

function daemonSet(template: object = {}, more: object = {}): object {
  return {
    metadata: { name: "ds" },
    spec: {
      selector: { matchLabels: { app: "ds" } },
      template: {
        metadata: { labels: { app: "ds" } },
        spec: { containers: [{ name: "c", image: "one" }], ...template },
      },
      ...more,
    },
  };
}

function pinOf(pod: Pod): string {
  const terms =
    pod.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  return terms.map(({ matchFields }) => matchFields?.[0]?.values?.join()).join();
}

async function podsOn(cluster: TestCluster, nodes: readonly string[]): Promise<readonly Pod[]> {
  return cluster.until(`pods on ${nodes.join()}`, async () => {
    const pods = await cluster.list(Pod);
    const activePods = pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    return activePods.map(pinOf).sort().join() === [...nodes].sort().join() && activePods;
  });
}

async function changeImage(cluster: TestCluster, image: string): Promise<void> {
  const spec = { template: { spec: { containers: [{ name: "c", image }] } } };
  await cluster.client.resource(DaemonSet).patch({ namespace: "d", name: "ds" }, "strategic", { spec });
}

const imageOf = (pod: Pod): string => pod.spec.containers[0]?.image ?? "";

test("each node gets one pod, pinned by its name and tolerating the node's troubles; the status counts them", () =>
  onCluster(async (cluster) => {
    await cluster.node("a");
    await cluster.node("b");
    const set = await cluster.create(DaemonSet, daemonSet());
    const pods = await podsOn(cluster, ["a", "b"]);
    for (const pod of pods) {
      assert.match(pod.metadata.name, /^ds-[a-z0-9]{5}$/);
      assert.equal(pod.spec.nodeName, undefined, "the scheduler binds it");
      assert.equal(pod.metadata.ownerReferences?.[0]?.uid, set.metadata.uid);
      const keys = pod.spec.tolerations?.map(({ key, effect }) => `${key}:${effect}`) ?? [];
      assert.ok(keys.includes("node.kubernetes.io/not-ready:NoExecute"));
      assert.ok(keys.includes("node.kubernetes.io/unschedulable:NoSchedule"));
      await cluster.run(pod, pinOf(pod));
    }
    const { status } = await cluster.until("all ready", async () => {
      const now = await cluster.get(DaemonSet, "ds");
      return now.status?.numberAvailable === 2 && now;
    });
    assert.deepEqual(status, {
      currentNumberScheduled: 2,
      numberMisscheduled: 0,
      desiredNumberScheduled: 2,
      numberReady: 2,
      observedGeneration: 1,
      updatedNumberScheduled: 2,
      numberAvailable: 2,
    });
    const events = await cluster.events();
    assert.equal(
      events.filter((event) => event.startsWith("Normal SuccessfulCreate Created pod: ds-")).length,
      2,
    );
  }));

test("selector, affinity and taints decide which nodes; a node that changes changes it", () =>
  onCluster(async (cluster) => {
    await cluster.node("fits", { labels: { gpu: "yes" } });
    await cluster.node("plain");
    await cluster.node("tainted", {
      labels: { gpu: "yes" },
      spec: { taints: [{ key: "k", effect: "NoSchedule" }] },
    });
    await cluster.create(DaemonSet, daemonSet({ nodeSelector: { gpu: "yes" } }));
    await podsOn(cluster, ["fits"]);
    const nodes = cluster.client.resource(Node);
    await nodes.patch({ name: "plain" }, "merge", { metadata: { labels: { gpu: "yes" } } });
    await podsOn(cluster, ["fits", "plain"]);
    await nodes.patch({ name: "fits" }, "merge", { metadata: { labels: { gpu: null } } });
    await podsOn(cluster, ["plain"]);
    await nodes.patch({ name: "plain" }, "merge", { spec: { taints: [{ key: "k", effect: "NoSchedule" }] } });
    await cluster.settle();
    await podsOn(cluster, ["plain"]);
    await nodes.patch({ name: "plain" }, "merge", { spec: { taints: [{ key: "k", effect: "NoExecute" }] } });
    await podsOn(cluster, []);
  }));

test("a deleted pod is replaced, a failed one after its back-off", () =>
  onCluster(async (cluster) => {
    await cluster.node("a");
    await cluster.create(DaemonSet, daemonSet());
    const [first] = await podsOn(cluster, ["a"]);
    await cluster.client.resource(Pod).delete({ namespace: "d", name: first?.metadata.name ?? "" });
    const second = await cluster.until("another", async () => {
      const [pod] = await cluster.list(Pod);
      return pod !== undefined && pod.metadata.uid !== first?.metadata.uid && pod;
    });
    await cluster.run(second, "a");
    await cluster.setStatus(second, { phase: "Failed" });
    // A bound pod stays until its kubelet lets it go.
    await cluster.until(
      "deleted",
      async () =>
        (await cluster.find(Pod, second.metadata.name))?.metadata.deletionTimestamp !== undefined ||
        (await cluster.find(Pod, second.metadata.name)) === undefined,
    );
    await cluster.client
      .resource(Pod)
      .delete({ namespace: "d", name: second.metadata.name }, { gracePeriodSeconds: 0 })
      .catch(() => {});
    await cluster.settle();
    assert.equal((await cluster.list(Pod)).length, 0, "the back-off has not passed");
    cluster.clock.advance(1_000);
    await podsOn(cluster, ["a"]);
    const events = await cluster.events();
    assert.ok(
      events.some((event) =>
        /^Warning FailedDaemonPod Found failed daemon pod d\/ds-.* on node a, will try to kill it/.test(
          event,
        ),
      ),
    );
  }));

async function rollingSet(cluster: TestCluster, rollingUpdate: object): Promise<void> {
  for (const name of ["a", "b", "c"]) await cluster.node(name);
  await cluster.create(
    DaemonSet,
    daemonSet({}, { updateStrategy: { type: "RollingUpdate", rollingUpdate } }),
  );
  for (const pod of await podsOn(cluster, ["a", "b", "c"])) await cluster.run(pod, pinOf(pod));
  await cluster.until(
    "all available",
    async () => (await cluster.get(DaemonSet, "ds")).status?.numberAvailable === 3,
  );
}

/** Lets go what is being deleted, as kubelets do. */
async function finishDeletions(cluster: TestCluster): Promise<void> {
  for (const pod of await cluster.list(Pod))
    if (pod.metadata.deletionTimestamp !== undefined)
      await cluster.client
        .resource(Pod)
        .delete({ namespace: "d", name: pod.metadata.name }, { gracePeriodSeconds: 0 });
}

test("a changed template is rolled out one node at a time, and recorded as a revision", () =>
  onCluster(async (cluster) => {
    await rollingSet(cluster, { maxUnavailable: 1 });
    await changeImage(cluster, "two");
    for (let done = 1; done <= 3; done++) {
      const fresh = await cluster.until(`replacement ${done}`, async () => {
        await finishDeletions(cluster);
        const pods = await cluster.list(Pod);
        const news = pods.filter((pod) => imageOf(pod) === "two");
        assert.ok(
          pods.filter(({ status }) => status?.phase === "Running").length >= 2,
          "never two down at once",
        );
        return news.length === done && news.find((pod) => !pod.spec.nodeName);
      });
      await cluster.settle();
      assert.equal((await cluster.list(Pod)).filter((pod) => imageOf(pod) === "two").length, done);
      await cluster.run(fresh, pinOf(fresh));
    }
    const { status, metadata } = await cluster.until("rolled out", async () => {
      const set = await cluster.get(DaemonSet, "ds");
      return set.status?.updatedNumberScheduled === 3 && set.status.numberAvailable === 3 && set;
    });
    assert.deepEqual(
      [status?.observedGeneration, metadata.generation, status?.numberUnavailable],
      [2, 2, undefined],
    );
    const revisions = await cluster.list(ControllerRevision);
    assert.deepEqual(revisions.map(({ revision }) => revision).sort(), [1, 2]);
    const [pod] = await cluster.list(Pod);
    const current = revisions.find(({ revision }) => revision === 2);
    assert.match(
      JSON.stringify(current?.data),
      /^\{"spec":\{"template":\{"\$patch":"replace","metadata":\{.*\},"spec":\{/,
    );
    assert.equal(pod?.metadata.labels?.["pod-template-generation"], "2");
    assert.deepEqual(current?.metadata.annotations, { "deprecated.daemonset.template.generation": "2" });
    assert.equal(
      pod?.metadata.labels?.["controller-revision-hash"],
      current?.metadata.labels?.["controller-revision-hash"],
    );
    // Going back takes the old revision again, with a new number.
    await changeImage(cluster, "one");
    await cluster.until("renumbered", async () => {
      const numbers = (await cluster.list(ControllerRevision)).map(({ revision }) => revision);
      return numbers.sort().join() === "2,3";
    });
  }));

test("with surge the successor comes first, and the old pod goes when it is available", () =>
  onCluster(async (cluster) => {
    await rollingSet(cluster, { maxUnavailable: 0, maxSurge: 1 });
    await changeImage(cluster, "two");
    const fresh = await cluster.until("a pod beside", async () =>
      (await cluster.list(Pod)).find((pod) => imageOf(pod) === "two"),
    );
    await cluster.settle();
    assert.equal((await cluster.list(Pod)).length, 4);
    await cluster.run(fresh, pinOf(fresh));
    await cluster.until("the old one goes", async () =>
      (await cluster.list(Pod)).some(
        (pod) =>
          imageOf(pod) === "one" &&
          pinOf(pod) === pinOf(fresh) &&
          pod.metadata.deletionTimestamp !== undefined,
      ),
    );
  }));
