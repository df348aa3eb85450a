import assert from "node:assert/strict";
import { test } from "node:test";
import { ControllerRevision, StatefulSet } from "@dray/api/apps/v1";
import { PersistentVolumeClaim, Pod } from "@dray/api/core/v1";
import { startStatefulSetController } from "@dray/controllers";
import { killedAtEveryWrite, type TestCluster, withCluster } from "../testing/cluster.ts";

const onCluster = (run: (cluster: TestCluster) => Promise<void>): Promise<void> =>
  withCluster(startStatefulSetController, run);

const ref = { namespace: "d", name: "db" };

function statefulSet(more: object = {}): object {
  return {
    metadata: { name: "db" },
    spec: {
      replicas: 3,
      serviceName: "dbs",
      selector: { matchLabels: { app: "db" } },
      template: { metadata: { labels: { app: "db" } }, spec: { containers: [{ name: "c", image: "one" }] } },
      ...more,
    },
  };
}

const claimTemplate = {
  metadata: { name: "data" },
  spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
};

const imageOf = (pod: Pod): string => pod.spec.containers[0]?.image ?? "";

async function change(cluster: TestCluster, spec: object): Promise<void> {
  await cluster.client.resource(StatefulSet).patch(ref, "strategic", { spec });
}

const changeImage = (cluster: TestCluster, image: string): Promise<void> =>
  change(cluster, { template: { spec: { containers: [{ name: "c", image }] } } });

const isGoing = ({ metadata }: Pod): boolean => metadata.deletionTimestamp !== undefined;

/** `name image` of the pods, `-` before those that are being deleted. */
async function pods(cluster: TestCluster): Promise<string> {
  const list = await cluster.list(Pod);
  const texts = list.map((pod) => `${isGoing(pod) ? "-" : ""}${pod.metadata.name} ${imageOf(pod)}`);
  return texts.sort().join(", ");
}

/** Waits for these pods, and that it stays so. */
async function steady(cluster: TestCluster, wanted: string): Promise<void> {
  let seen = "";
  await cluster
    .until(wanted, async () => {
      seen = await pods(cluster);
      return seen === wanted;
    })
    .catch((error: Error) => assert.equal(seen, wanted, error.message));
  await cluster.settle();
  assert.equal(await pods(cluster), wanted);
}

async function runAll(cluster: TestCluster): Promise<void> {
  for (const pod of await cluster.list(Pod))
    if (pod.status?.phase === "Pending" && !isGoing(pod)) await cluster.run(pod, "a");
}

/** Runs the pods that come, and lets go those that are deleted, until all are updated and ready. */
async function rolledOut(cluster: TestCluster): Promise<StatefulSet> {
  return cluster.until("rolled out", async () => {
    await cluster.finishDeletions();
    await runAll(cluster);
    const set = await cluster.get(StatefulSet, "db");
    const { status, spec, metadata } = set;
    return (
      status?.observedGeneration === metadata.generation &&
      status?.replicas === spec.replicas &&
      (status?.availableReplicas ?? 0) === spec.replicas &&
      status?.currentRevision === status?.updateRevision &&
      set
    );
  });
}

test("creates each pod once its predecessors are ready, with names, volumes and a node", () =>
  onCluster(async (cluster) => {
    await cluster.node("a");
    await cluster.create(StatefulSet, statefulSet({ volumeClaimTemplates: [claimTemplate] }));
    await steady(cluster, "db-0 one");
    await runAll(cluster);
    await steady(cluster, "db-0 one, db-1 one");
    const set = await rolledOut(cluster);
    assert.deepEqual(
      (await cluster.list(PersistentVolumeClaim)).map(({ metadata }) => metadata.name).sort(),
      ["data-db-0", "data-db-1", "data-db-2"],
    );
    const pod = await cluster.get(Pod, "db-2");
    const revision = set.status?.updateRevision ?? "";
    assert.deepEqual(pod.metadata.labels, {
      app: "db",
      "statefulset.kubernetes.io/pod-name": "db-2",
      "apps.kubernetes.io/pod-index": "2",
      "controller-revision-hash": revision,
    });
    assert.deepEqual([pod.spec.hostname, pod.spec.subdomain], ["db-2", "dbs"]);
    assert.deepEqual(pod.spec.volumes?.[0], {
      name: "data",
      persistentVolumeClaim: { claimName: "data-db-2" },
    });
    assert.deepEqual(set.status, {
      observedGeneration: 1,
      replicas: 3,
      readyReplicas: 3,
      currentReplicas: 3,
      updatedReplicas: 3,
      currentRevision: revision,
      updateRevision: revision,
      collisionCount: 0,
      availableReplicas: 3,
    });
    const events = await cluster.events();
    for (const message of [
      "Create Claim data-db-0 Pod db-0 in StatefulSet db success",
      "Create Pod db-2 in StatefulSet db successful",
    ])
      assert.ok(events.includes(`Normal SuccessfulCreate ${message}`), events.join("\n"));
  }));

test("scaling down takes the highest pod first, and waits until it is gone; its claim stays", () =>
  onCluster(async (cluster) => {
    await cluster.node("a");
    await cluster.create(StatefulSet, statefulSet({ volumeClaimTemplates: [claimTemplate] }));
    await rolledOut(cluster);
    await change(cluster, { replicas: 1 });
    await steady(cluster, "-db-2 one, db-0 one, db-1 one");
    await cluster.finishDeletions();
    await steady(cluster, "-db-1 one, db-0 one");
    await cluster.finishDeletions();
    await steady(cluster, "db-0 one");
    assert.equal((await cluster.list(PersistentVolumeClaim)).length, 3);
    assert.ok(
      (await cluster.events()).includes(
        "Normal SuccessfulDelete Delete Pod db-2 in StatefulSet db successful",
      ),
    );
  }));

test("Parallel creates and deletes all pods at once; ordinals begin at ordinals.start", () =>
  onCluster(async (cluster) => {
    await cluster.node("a");
    await cluster.create(
      StatefulSet,
      statefulSet({ podManagementPolicy: "Parallel", ordinals: { start: 5 } }),
    );
    await steady(cluster, "db-5 one, db-6 one, db-7 one");
    await change(cluster, { replicas: 1, ordinals: { start: 6 } });
    await steady(cluster, "db-6 one");
  }));

test("a changed template goes from the highest ordinal down to the partition, and back", () =>
  onCluster(async (cluster) => {
    await cluster.node("a");
    await cluster.create(
      StatefulSet,
      statefulSet({ updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: 1 } } }),
    );
    await rolledOut(cluster);
    await changeImage(cluster, "two");
    await steady(cluster, "-db-2 one, db-0 one, db-1 one");
    await cluster.finishDeletions();
    await steady(cluster, "db-0 one, db-1 one, db-2 two");
    await runAll(cluster);
    await steady(cluster, "-db-1 one, db-0 one, db-2 two");
    await cluster.finishDeletions();
    await cluster.until("the second", async () => (await cluster.find(Pod, "db-1")) !== undefined);
    await runAll(cluster);
    await steady(cluster, "db-0 one, db-1 two, db-2 two");
    // Below the partition a pod that is lost comes back as it was.
    await cluster.client.resource(Pod).delete({ namespace: "d", name: "db-0" }, { gracePeriodSeconds: 0 });
    await steady(cluster, "db-0 one, db-1 two, db-2 two");
    await runAll(cluster);
    const { status } = await cluster.until("counted", async () => {
      const set = await cluster.get(StatefulSet, "db");
      return set.status?.availableReplicas === 3 && set;
    });
    assert.deepEqual([status?.currentReplicas, status?.updatedReplicas], [1, 2]);
    assert.notEqual(status?.currentRevision, status?.updateRevision);

    await change(cluster, { updateStrategy: { rollingUpdate: { partition: 0 } } });
    await cluster.until("all new", async () => {
      await cluster.finishDeletions();
      await runAll(cluster);
      return (await pods(cluster)) === "db-0 two, db-1 two, db-2 two";
    });
    await rolledOut(cluster);
    await changeImage(cluster, "one");
    await rolledOut(cluster);
    assert.equal(await pods(cluster), "db-0 one, db-1 one, db-2 one");
    const revisions = await cluster.list(ControllerRevision);
    assert.deepEqual(revisions.map(({ revision }) => revision).sort(), [2, 3], "taken again, renumbered");
  }));

test("maxUnavailable replaces several pods at a time; OnDelete only deleted ones", () =>
  onCluster(async (cluster) => {
    await cluster.node("a");
    await cluster.create(
      StatefulSet,
      statefulSet({ updateStrategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 2 } } }),
    );
    await rolledOut(cluster);
    await changeImage(cluster, "two");
    await steady(cluster, "-db-1 one, -db-2 one, db-0 one");
    await rolledOut(cluster);
    await change(cluster, { updateStrategy: { $patch: "replace", type: "OnDelete" } });
    await changeImage(cluster, "three");
    await steady(cluster, "db-0 two, db-1 two, db-2 two");
    await cluster.client.resource(Pod).delete({ namespace: "d", name: "db-1" }, { gracePeriodSeconds: 0 });
    await steady(cluster, "db-0 two, db-1 three, db-2 two");
  }));

test("with minReadySeconds the next pod waits until the one before it has been ready so long", () =>
  onCluster(async (cluster) => {
    await cluster.node("a");
    await cluster.create(StatefulSet, statefulSet({ replicas: 2, minReadySeconds: 60 }));
    await steady(cluster, "db-0 one");
    await runAll(cluster);
    await steady(cluster, "db-0 one");
    cluster.clock.advance(60_000);
    await steady(cluster, "db-0 one, db-1 one");
  }));

test("a failed pod is replaced by one of the same name; a label that was taken away comes back", () =>
  onCluster(async (cluster) => {
    await cluster.node("a");
    await cluster.create(StatefulSet, statefulSet({ replicas: 1 }));
    await rolledOut(cluster);
    const first = await cluster.get(Pod, "db-0");
    await cluster.client.resource(Pod).patch({ namespace: "d", name: "db-0" }, "merge", {
      metadata: { labels: { "statefulset.kubernetes.io/pod-name": null } },
    });
    const label = (pod: Pod): string | undefined =>
      pod.metadata.labels?.["statefulset.kubernetes.io/pod-name"];
    await cluster.until("its label", async () => label(await cluster.get(Pod, "db-0")) === "db-0");
    await cluster.setStatus(first, { phase: "Failed" });
    await cluster.until("another", async () => {
      await cluster.finishDeletions();
      const pod = await cluster.find(Pod, "db-0");
      return pod !== undefined && pod.metadata.uid !== first.metadata.uid;
    });
  }));

test("the retention policy makes the set, or a pod that is scaled away, the owner of the claims", () =>
  onCluster(async (cluster) => {
    await cluster.node("a");
    await cluster.create(
      StatefulSet,
      statefulSet({
        replicas: 2,
        volumeClaimTemplates: [claimTemplate],
        persistentVolumeClaimRetentionPolicy: { whenDeleted: "Delete", whenScaled: "Delete" },
      }),
    );
    await rolledOut(cluster);
    const owners = async (name: string): Promise<string> => {
      const { metadata } = await cluster.get(PersistentVolumeClaim, name);
      return (metadata.ownerReferences ?? []).map(({ kind, name: owner }) => `${kind} ${owner}`).join();
    };
    assert.equal(await owners("data-db-0"), "StatefulSet db");
    assert.equal(await owners("data-db-1"), "StatefulSet db");
    await change(cluster, { replicas: 1 });
    await cluster.until("owned by its pod", async () => (await owners("data-db-1")) === "Pod db-1");
    await cluster.finishDeletions();
    await steady(cluster, "db-0 one");
    // The claim of the pod that is gone is not used again: the garbage collector, which is away here, deletes
    // it.
    await change(cluster, { replicas: 2 });
    await steady(cluster, "db-0 one");
    const claims = cluster.client.resource(PersistentVolumeClaim);
    await claims.patch({ namespace: "d", name: "data-db-1" }, "merge", { metadata: { finalizers: null } });
    await claims.delete({ namespace: "d", name: "data-db-1" });
    await steady(cluster, "db-0 one, db-1 one");
    await change(cluster, { persistentVolumeClaimRetentionPolicy: { whenDeleted: "Retain" } });
    await cluster.until("nobody's", async () => (await owners("data-db-0")) === "");
  }));

test("killed at any write, the next one goes on: no pod and no revision twice", () =>
  killedAtEveryWrite(startStatefulSetController, async (cluster) => {
    await cluster.node("a");
    await cluster.create(
      StatefulSet,
      statefulSet({ replicas: 2, podManagementPolicy: "Parallel", volumeClaimTemplates: [claimTemplate] }),
    );
    await rolledOut(cluster);
    const uids = new Set((await cluster.list(Pod)).map(({ metadata }) => metadata.uid));
    await changeImage(cluster, "two");
    await rolledOut(cluster);
    const after = await cluster.list(Pod);
    assert.deepEqual(after.map(imageOf), ["two", "two"]);
    assert.ok(after.every(({ metadata }) => !uids.has(metadata.uid)));
    const revisions = await cluster.list(ControllerRevision);
    assert.deepEqual(revisions.map(({ revision }) => revision).sort(), [1, 2]);
    assert.equal((await cluster.list(PersistentVolumeClaim)).length, 2);
  }));
