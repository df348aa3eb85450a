import assert from "node:assert/strict";
import { test } from "node:test";
import { Job } from "@dray/api/batch/v1";
import { ConfigMap, Pod } from "@dray/api/core/v1";
import { PodGroup, Workload } from "@dray/api/scheduling/v1beta1";
import {
  type Controller,
  type ControllerContext,
  servedResources,
  startGarbageCollector,
  startJobController,
  startPodGroupProtectionController,
} from "@dray/controllers";
import { type TestCluster, type TestOptions, withCluster } from "../testing/cluster.ts";
import { afterEachCrash } from "../testing/crashes.ts";

const options: TestOptions = {
  featureGates: { GenericWorkload: true, DRAWorkloadResourceClaims: true, WorkloadWithJob: true },
  runtimeConfig: { "scheduling.k8s.io/v1beta1": true },
};
const start = async (context: ControllerContext): Promise<Controller> =>
  startJobController(context, await servedResources(context));
const onCluster = (run: (cluster: TestCluster) => Promise<void>): Promise<void> =>
  withCluster(start, run, options);

const claim = { name: "gpu", resourceClaimTemplateName: "gpus" };
const gang = { schedulingPolicy: { gang: {} }, disruptionMode: { all: {} }, resourceClaims: [claim] };
const job = (name: string, spec: object = {}, metadata: object = {}, pod: object = {}): object => ({
  metadata: { name, ...metadata },
  spec: {
    parallelism: 2,
    completions: 2,
    template: {
      spec: {
        containers: [{ name: "c", image: "i" }],
        restartPolicy: "Never",
        resourceClaims: [claim],
        ...pod,
      },
    },
    ...spec,
  },
});

const podsOf = (cluster: TestCluster, count: number): Promise<readonly Pod[]> =>
  cluster.until(`${count} pods`, async () => {
    const pods = await cluster.list(Pod);
    return pods.length === count && pods;
  });
const only = async <T>(list: Promise<readonly T[]>): Promise<T> => {
  const [first, ...others] = await list;
  assert.ok(first !== undefined && others.length === 0);
  return first;
};

test("a Job has a Workload and a PodGroup, in which its pods are scheduled together", () =>
  onCluster(async (cluster) => {
    const { metadata } = await cluster.create(Job, job("train", { scheduling: gang }));
    const pods = await podsOf(cluster, 2);
    const workload = await only(cluster.list(Workload));
    const group = await only(cluster.list(PodGroup));
    const controller = { apiVersion: "batch/v1", kind: "Job", name: "train", uid: metadata.uid };
    assert.match(workload.metadata.name, /^train-[a-z0-9]{10}$/);
    assert.deepEqual(workload.metadata.ownerReferences, [
      { ...controller, controller: true, blockOwnerDeletion: true },
    ]);
    assert.deepEqual(workload.spec.controllerRef, { apiGroup: "batch", kind: "Job", name: "train" });
    const scheduled = {
      schedulingPolicy: { gang: { minCount: 2 } },
      disruptionMode: { all: {} },
      resourceClaims: [claim],
    };
    const [template] = workload.spec.podGroupTemplates ?? [];
    assert.deepEqual(template?.name, "train-pgt-0");
    for (const [field, value] of Object.entries(scheduled)) {
      assert.deepEqual(template?.[field as keyof typeof template], value);
      assert.deepEqual(group.spec[field as keyof typeof group.spec], value);
    }
    assert.deepEqual(group.spec.workloadRef, {
      workloadName: workload.metadata.name,
      templateName: "train-pgt-0",
    });
    assert.deepEqual(
      group.metadata.ownerReferences?.map(({ kind, name }) => `${kind} ${name}`),
      ["Job train", `Workload ${workload.metadata.name}`],
    );
    for (const pod of pods) {
      assert.equal(pod.spec.schedulingGroup?.podGroupName, group.metadata.name);
      // A group stays until its pods have ended: it must not keep them.
      assert.deepEqual(
        pod.metadata.ownerReferences?.map(({ kind }) => kind),
        ["Job"],
      );
    }
    const events = await cluster.events();
    assert.ok(
      events.includes(`Normal WorkloadCreated Created Workload ${workload.metadata.name} for Job train`),
    );
    assert.ok(
      events.includes(`Normal PodGroupCreated Created PodGroup ${group.metadata.name} for Job train`),
    );
  }));

test("a gang grows with the parallelism of its Job; without a policy there is no gang", () =>
  onCluster(async (cluster) => {
    await cluster.create(
      Job,
      job("train", { scheduling: { schedulingPolicy: { gang: {} } }, completions: 5 }),
    );
    await podsOf(cluster, 2);
    await cluster.client
      .resource(Job)
      .patch({ namespace: "d", name: "train" }, "merge", { spec: { parallelism: 3 } });
    await podsOf(cluster, 3);
    const size = ({ schedulingPolicy: { gang } }: PodGroup["spec"]): unknown => gang?.minCount;
    assert.equal(size((await only(cluster.list(PodGroup))).spec), 3);
    const workload = await only(cluster.list(Workload));
    assert.equal(workload.spec.podGroupTemplates?.[0]?.schedulingPolicy.gang?.minCount, 3);
    await cluster.client
      .resource(Job)
      .delete({ namespace: "d", name: "train" }, { propagationPolicy: "Background" });
    await cluster.create(Job, job("plain"));
    const plain = await cluster.until("its group", async () =>
      (await cluster.list(PodGroup)).find(({ metadata }) => metadata.name.startsWith("plain")),
    );
    assert.deepEqual(plain.spec.schedulingPolicy, { basic: {} });
  }));

test("the owner of a Job makes the Workload, and may leave the PodGroup to it; a group of the user's is kept", () =>
  onCluster(async (cluster) => {
    const { metadata } = await cluster.create(ConfigMap, { metadata: { name: "set" } });
    const owner = { apiVersion: "v1", kind: "ConfigMap", name: "set", uid: metadata.uid, controller: true };
    const ownerReferences = [owner];
    const template = (name: string): object => ({ name, schedulingPolicy: { gang: { minCount: 2 } } });
    const annotations = { "scheduling.k8s.io/group-template-name": "workers" };
    await cluster.create(Workload, {
      metadata: { name: "of-set", ownerReferences },
      spec: {
        controllerRef: { kind: "ConfigMap", name: "set" },
        podGroupTemplates: [template("leader"), template("workers")],
      },
    });
    await cluster.create(Job, job("workers", {}, { ownerReferences, annotations }));
    await cluster.create(Job, job("other", {}, { ownerReferences }));
    await cluster.create(Job, job("own-group", {}, {}, { schedulingGroup: { podGroupName: "mine" } }));
    const pods = await podsOf(cluster, 6);
    const group = await only(cluster.list(PodGroup));
    assert.deepEqual(group.spec.workloadRef, { workloadName: "of-set", templateName: "workers" });
    assert.deepEqual(
      group.metadata.ownerReferences?.map(({ name }) => name),
      ["workers"],
    );
    const groups = Object.groupBy(pods, ({ spec }) => spec.schedulingGroup?.podGroupName ?? "");
    assert.deepEqual(Object.keys(groups).sort(), ["", "mine", group.metadata.name].sort());
    assert.equal((await cluster.list(Workload)).length, 1);
  }));

test("a Job that is deleted takes its pods, its group and its Workload along", () =>
  withCluster(
    async (context) => {
      const served = await servedResources(context);
      await startGarbageCollector(context, served);
      await startPodGroupProtectionController(context, served);
      await startJobController(context, served);
    },
    async (cluster) => {
      await cluster.node("a");
      await cluster.create(Job, job("train", { scheduling: gang }));
      for (const pod of await podsOf(cluster, 2)) await cluster.run(pod, "a");
      await cluster.settle();
      await cluster.client
        .resource(Job)
        .delete({ namespace: "d", name: "train" }, { propagationPolicy: "Background" });
      await cluster.until("nothing is left", async () => {
        await cluster.finishDeletions();
        const kinds = await Promise.all(
          [Pod, PodGroup, Workload].map((kind) => cluster.list<Pod>(kind as never)),
        );
        return kinds.every((list) => list.length === 0);
      });
    },
    options,
  ));

test("a Job that has started before gets no scheduling objects", () =>
  withCluster(
    startJobController,
    async (cluster) => {
      await cluster.create(Job, job("old"));
      await podsOf(cluster, 2);
      const { context } = cluster;
      await cluster.restart(async () => {}, start);
      await cluster.settle();
      assert.deepEqual(await cluster.list(Workload), []);
      assert.equal(context.features.enabled("WorkloadWithJob"), true);
    },
    options,
  ));

test("killed before any of its writes it goes on, and makes one Workload and one PodGroup", () =>
  afterEachCrash(
    start,
    {
      async before(cluster) {
        await cluster.create(Job, job("train", { scheduling: gang }));
      },
      async done(cluster) {
        const pods = await cluster.list(Pod);
        return pods.length === 2 && pods.every(({ spec }) => spec.schedulingGroup !== undefined);
      },
      async after(cluster) {
        await only(cluster.list(Workload));
        await only(cluster.list(PodGroup));
      },
    },
    options,
  ));
