import assert from "node:assert/strict";
import type { Draft } from "@dray/api";
import { ControllerRevision, DaemonSet, Deployment, ReplicaSet, StatefulSet } from "@dray/api/apps/v1";
import { CronJob, Job } from "@dray/api/batch/v1";
import { PersistentVolume, PersistentVolumeClaim, Pod } from "@dray/api/core/v1";
import { StorageClass } from "@dray/api/storage/v1";
import { eventually } from "@dray/testing/eventually";
import type { Scenario, Stage } from "../scenario.ts";
import { isReady, livePods, podDraft, podTemplate } from "./pods.ts";

const name = "interop-app";
const selector = { matchLabels: { app: name } };
const newImage = {
  spec: { template: { spec: { containers: [{ name: "main", image: "registry.k8s.io/pause:3.11" }] } } },
};

/** A Deployment whose replicas are all available. */
export async function availableDeployment(stage: Stage, replicas: number): Promise<Deployment> {
  const { admin, namespace } = stage;
  const metadata = { namespace, name };
  await admin
    .resource(Deployment)
    .create({ metadata, spec: { replicas, selector, template: podTemplate(name) } });
  return eventually(`${replicas} replicas are available`, async () => {
    const deployment = await admin.resource(Deployment).get(metadata);
    return deployment.status?.availableReplicas === replicas && deployment;
  });
}

const rollout: Scenario = {
  name: "Deployment: roll out, roll back, scale",
  async run(stage) {
    const { admin, namespace } = stage;
    const deployments = admin.resource(Deployment);
    const ref = { namespace, name };
    const sets = async () =>
      (await admin.resource(ReplicaSet).list({ namespace, labelSelector: `app=${name}` })).items;
    const finished = (what: string, revision: string, generations: number) =>
      eventually(what, async () => {
        const { metadata, status } = await deployments.get(ref);
        const all = await sets();
        return (
          status?.observedGeneration === metadata.generation &&
          status?.updatedReplicas === 4 &&
          status.availableReplicas === 4 &&
          status.replicas === 4 &&
          metadata.annotations?.["deployment.kubernetes.io/revision"] === revision &&
          all.length === generations &&
          all.filter((set) => set.spec.replicas === 0 && set.status?.replicas === 0).length ===
            generations - 1
        );
      });
    await availableDeployment(stage, 4);
    await finished("the first revision is complete", "1", 1);
    await deployments.patch(ref, "strategic", newImage);
    await finished("the second revision is complete, and the old one scaled down", "2", 2);
    const old = podTemplate(name).spec?.containers[0]?.image;
    await deployments.patch(ref, "json", [
      { op: "replace", path: "/spec/template/spec/containers/0/image", value: old },
    ]);
    await finished("the first template is back, as revision 3", "3", 2);
    await deployments.patch(ref, "merge", { spec: { replicas: 1 } }, { subresource: "scale" });
    await eventually("one pod is left", async () => (await livePods(stage, name)).length === 1);
    await deployments.delete(ref, { propagationPolicy: "Foreground" });
    await eventually("its ReplicaSets and pods are gone", async () => {
      const { items } = await admin.resource(Pod).list({ namespace });
      return (await sets()).length === 0 && items.length === 0;
    });
  },
};

const job: Scenario = {
  name: "Job: completes, and is deleted after its time to live",
  async run({ admin, namespace }) {
    const metadata = { namespace, name };
    const jobs = admin.resource(Job);
    const template = podTemplate(name, { restartPolicy: "Never" });
    await jobs.create({ metadata, spec: { completions: 4, parallelism: 2, template } });
    await eventually("the job is complete", async () => {
      const { status } = await jobs.get(metadata);
      return (
        status?.succeeded === 4 &&
        status.conditions?.some((c) => c.type === "Complete" && c.status === "True")
      );
    });
    await eventually("its pods are no longer tracked", async () => {
      const { items } = await admin.resource(Pod).list({ namespace, labelSelector: `job-name=${name}` });
      return items.length === 4 && items.every((pod) => (pod.metadata.finalizers ?? []).length === 0);
    });
    await jobs.patch(metadata, "merge", { spec: { ttlSecondsAfterFinished: 1 } });
    await eventually("job and pods are gone", async () => {
      const left =
        (await jobs.list({ namespace })).items.length +
        (await admin.resource(Pod).list({ namespace })).items.length;
      return left === 0;
    });
  },
};

const daemonSet: Scenario = {
  name: "DaemonSet: a pod on each node, rolled",
  async run(stage) {
    const { admin, namespace, nodes } = stage;
    const metadata = { namespace, name };
    const sets = admin.resource(DaemonSet);
    await sets.create({ metadata, spec: { selector, template: podTemplate(name) } });
    const finished = (what: string) =>
      eventually(what, async () => {
        const { metadata: meta, status } = await sets.get(metadata);
        return (
          status?.observedGeneration === meta.generation &&
          status?.numberAvailable === nodes.length &&
          status.updatedNumberScheduled === nodes.length
        );
      });
    await finished("each node has its pod");
    const pods = await livePods(stage, name);
    assert.deepEqual(pods.map((pod) => pod.spec.nodeName).sort(), nodes.map((node) => node.name).sort());
    await sets.patch(metadata, "strategic", newImage);
    await finished("each node has a new pod");
    assert.equal((await admin.resource(ControllerRevision).list({ namespace })).items.length, 2);
  },
};

const statefulSet: Scenario = {
  name: "StatefulSet: in order, with volumes",
  async run(stage) {
    const { admin, namespace, unique } = stage;
    const metadata = { namespace, name };
    const sets = admin.resource(StatefulSet);
    await admin.resource(StorageClass).create({
      metadata: { name: unique },
      provisioner: "kubernetes.io/no-provisioner",
      volumeBindingMode: "WaitForFirstConsumer",
    });
    const volumes = [`${unique}-0`, `${unique}-1`];
    for (const volume of volumes)
      await admin.resource(PersistentVolume).create({
        metadata: { name: volume },
        spec: {
          capacity: { storage: "1Gi" },
          accessModes: ["ReadWriteOnce"],
          storageClassName: unique,
          persistentVolumeReclaimPolicy: "Retain",
          hostPath: { path: `/tmp/${volume}` },
        },
      });
    await sets.create({
      metadata,
      spec: {
        serviceName: name,
        replicas: 2,
        selector,
        template: podTemplate(name),
        persistentVolumeClaimRetentionPolicy: { whenDeleted: "Delete", whenScaled: "Retain" },
        volumeClaimTemplates: [
          {
            apiVersion: "v1",
            kind: "PersistentVolumeClaim",
            metadata: { name: "data" },
            spec: {
              accessModes: ["ReadWriteOnce"],
              storageClassName: unique,
              resources: { requests: { storage: "1Gi" } },
            },
          } as Draft<PersistentVolumeClaim> as PersistentVolumeClaim,
        ],
      },
    });
    await eventually(
      "two replicas are ready",
      async () => (await sets.get(metadata)).status?.readyReplicas === 2,
    );
    assert.deepEqual((await livePods(stage, name)).map((pod) => pod.metadata.name).sort(), [
      `${name}-0`,
      `${name}-1`,
    ]);
    const claims = await admin.resource(PersistentVolumeClaim).list({ namespace });
    assert.deepEqual(
      claims.items.map((claim) => claim.status?.phase),
      ["Bound", "Bound"],
    );
    await sets.patch(metadata, "merge", { spec: { replicas: 1 } }, { subresource: "scale" });
    await eventually("the last replica is gone", async () => {
      const pods = await admin.resource(Pod).list({ namespace });
      return pods.items.length === 1 && pods.items[0]?.metadata.name === `${name}-0`;
    });
    await sets.delete(metadata, { propagationPolicy: "Background" });
    await eventually("its claims are gone", async () => {
      return (await admin.resource(PersistentVolumeClaim).list({ namespace })).items.length === 0;
    });
    await eventually("its volumes are released", async () => {
      const phases = volumes.map(
        async (name) => (await admin.resource(PersistentVolume).get({ name })).status?.phase,
      );
      return (await Promise.all(phases)).every((phase) => phase === "Released");
    });
    for (const name of volumes) await admin.resource(PersistentVolume).delete({ name });
    await admin.resource(StorageClass).delete({ name: unique });
    await eventually("its volumes are gone", async () => {
      const { items } = await admin.resource(PersistentVolume).list();
      return !items.some(({ metadata }) => volumes.includes(metadata.name));
    });
  },
};

/** The scheduler logs an error for it, which one that loses the race between a claim and its pod logs too. */
const lateVolume: Scenario = {
  name: "PersistentVolumeClaim: a pod waits for it",
  async run({ admin, namespace, unique }) {
    const claimName = "interop-late";
    const volumes = [{ name: "data", persistentVolumeClaim: { claimName } }];
    const pods = admin.resource(Pod);
    await pods.create(podDraft(namespace, name, { volumes }));
    await eventually("the pod says what it waits for", async () => {
      const { conditions } = (await pods.get({ namespace, name })).status ?? {};
      return conditions?.some(
        ({ type, message }) =>
          type === "PodScheduled" && message?.includes(`persistentvolumeclaim "${claimName}" not found`),
      );
    });
    const spec = {
      accessModes: ["ReadWriteOnce"],
      storageClassName: "",
      volumeName: unique,
      resources: { requests: { storage: "1Gi" } },
    };
    await admin.resource(PersistentVolume).create({
      metadata: { name: unique },
      spec: {
        capacity: { storage: "1Gi" },
        accessModes: ["ReadWriteOnce"],
        claimRef: { namespace, name: claimName },
        hostPath: { path: `/tmp/${unique}` },
      },
    });
    await admin.resource(PersistentVolumeClaim).create({ metadata: { namespace, name: claimName }, spec });
    await eventually("the pod is ready", async () => isReady(await pods.get({ namespace, name })));
    await pods.delete({ namespace, name });
    await admin.resource(PersistentVolumeClaim).delete({ namespace, name: claimName });
    await admin.resource(PersistentVolume).delete({ name: unique });
  },
};

const cronJob: Scenario = {
  name: "CronJob: starts a job on the minute",
  async run({ admin, namespace }) {
    const metadata = { namespace, name };
    await admin.resource(CronJob).create({
      metadata,
      spec: {
        schedule: "* * * * *",
        jobTemplate: { spec: { template: podTemplate(name, { restartPolicy: "Never" }) } },
      },
    });
    await eventually(
      "a job has succeeded",
      async () => {
        const { status } = await admin.resource(CronJob).get(metadata);
        return status?.lastSuccessfulTime !== undefined && status.lastScheduleTime !== undefined;
      },
      100_000,
    );
    const [made] = (await admin.resource(Job).list({ namespace })).items;
    assert.equal(made?.metadata.ownerReferences?.[0]?.kind, "CronJob");
  },
};

export const workloads: readonly Scenario[] = [cronJob, rollout, job, daemonSet, statefulSet, lateVolume];
