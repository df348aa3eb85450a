import assert from "node:assert/strict";
import { Deployment } from "@dray/api/apps/v1";
import { HorizontalPodAutoscaler as FirstAutoscaler } from "@dray/api/autoscaling/v1";
import { HorizontalPodAutoscaler } from "@dray/api/autoscaling/v2";
import { Endpoints, Node, Pod, Service } from "@dray/api/core/v1";
import { EndpointSlice } from "@dray/api/discovery/v1";
import { ServiceCIDR } from "@dray/api/networking/v1";
import { PodDisruptionBudget } from "@dray/api/policy/v1";
import { PriorityClass } from "@dray/api/scheduling/v1";
import { eventually } from "@dray/testing/eventually";
import { refusal } from "../refusal.ts";
import type { Scenario } from "../scenario.ts";
import { isReady, livePods, podDraft } from "./pods.ts";
import { availableDeployment } from "./workloads.ts";

const name = "interop-app";

const endpoints: Scenario = {
  name: "Service: its endpoint slices follow the pods",
  async run(stage) {
    const { admin, namespace } = stage;
    const metadata = { namespace, name };
    const service = await admin.resource(Service).create({
      metadata,
      spec: { selector: { app: name }, ports: [{ name: "http", port: 80, targetPort: 8080 }] },
    });
    assert.match(service.spec.clusterIP ?? "", /^10\.0\.0\./);
    await availableDeployment(stage, 3);
    const addresses = async (): Promise<string[]> => {
      const labelSelector = `kubernetes.io/service-name=${name}`;
      const { items } = await admin.resource(EndpointSlice).list({ namespace, labelSelector });
      return items.flatMap(({ endpoints }) =>
        (endpoints ?? []).filter(({ conditions }) => conditions?.ready).flatMap(({ addresses }) => addresses),
      );
    };
    const follow = (what: string, count: number) =>
      eventually(what, async () => {
        const pods = (await livePods(stage, name)).filter(isReady).map((pod) => pod.status?.podIP);
        const ready = await addresses();
        const subsets = (await admin.resource(Endpoints).get(metadata)).subsets ?? [];
        const old = subsets.flatMap(({ addresses }) => addresses ?? []).map(({ ip }) => ip);
        const same = (some: readonly (string | undefined)[]) =>
          some.toSorted().join() === pods.toSorted().join();
        return pods.length === count && same(ready) && same(old);
      });
    await follow("three pods are endpoints", 3);
    await admin
      .resource(Deployment)
      .patch(metadata, "merge", { spec: { replicas: 1 } }, { subresource: "scale" });
    await follow("one pod is an endpoint", 1);
    await admin.resource(Service).delete(metadata);
    await eventually("its slices are gone", async () => {
      return (await admin.resource(EndpointSlice).list({ namespace })).items.length === 0;
    });
  },
};

const disruption: Scenario = {
  name: "PodDisruptionBudget: evictions within the budget",
  async run(stage) {
    const { admin, namespace } = stage;
    const metadata = { namespace, name };
    const selector = { matchLabels: { app: name } };
    await admin.resource(PodDisruptionBudget).create({ metadata, spec: { minAvailable: 2, selector } });
    await availableDeployment(stage, 3);
    const allowed = (count: number) =>
      eventually(`${count} disruptions are allowed`, async () => {
        const { status } = await admin.resource(PodDisruptionBudget).get(metadata);
        return status?.disruptionsAllowed === count && status.currentHealthy === 2 + count;
      });
    const evict = (pod: Pod) =>
      admin.resource(Pod).post({ namespace, name: pod.metadata.name }, "eviction", {
        apiVersion: "policy/v1",
        kind: "Eviction",
        metadata: { namespace, name: pod.metadata.name },
      });
    await allowed(1);
    const pods = await livePods(stage, name);
    await evict(pods[0]!);
    await eventually("it is replaced", async () => {
      const now = (await livePods(stage, name)).filter(isReady);
      return now.length === 3 && !now.some((pod) => pod.metadata.uid === pods[0]!.metadata.uid);
    });
    await allowed(1);
    await admin.resource(PodDisruptionBudget).patch(metadata, "merge", { spec: { minAvailable: 3 } });
    await eventually("no disruption is allowed", async () => {
      const { metadata: meta, status } = await admin.resource(PodDisruptionBudget).get(metadata);
      return status?.observedGeneration === meta.generation && status?.disruptionsAllowed === 0;
    });
    const refused = await refusal("an eviction beyond the budget", evict((await livePods(stage, name))[0]!));
    assert.equal(refused.code, 429);
    assert.equal(refused.message, "Cannot evict pod as it would violate the pod's disruption budget.");
    assert.equal(refused.status.details?.causes?.[0]?.reason, "DisruptionBudget");
  },
};

const autoscaler: Scenario = {
  name: "HorizontalPodAutoscaler: both versions, and its conditions without metrics",
  async run(stage) {
    const { admin, namespace } = stage;
    const metadata = { namespace, name };
    await availableDeployment(stage, 1);
    await admin.resource(HorizontalPodAutoscaler).create({
      metadata,
      spec: {
        scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name },
        minReplicas: 2,
        maxReplicas: 3,
        metrics: [
          {
            type: "Resource",
            resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 50 } },
          },
        ],
      },
    });
    const [first] = (await admin.resource(FirstAutoscaler).list({ namespace })).items;
    assert.equal(first?.spec.targetCPUUtilizationPercentage, 50);
    await eventually("the target has at least the least replicas", async () => {
      return (await admin.resource(Deployment).get(metadata)).spec.replicas === 2;
    });
    await eventually("it says that there are no metrics", async () => {
      const { status } = await admin.resource(HorizontalPodAutoscaler).get(metadata);
      const condition = (type: string) => status?.conditions?.find((condition) => condition.type === type);
      return (
        condition("AbleToScale")?.status === "True" &&
        condition("ScalingActive")?.reason === "FailedGetResourceMetric"
      );
    });
    const again = (await admin.resource(FirstAutoscaler).list({ namespace })).items;
    assert.ok(again[0]?.metadata.annotations?.["autoscaling.alpha.kubernetes.io/conditions"]);
  },
};

const preemption: Scenario = {
  name: "PriorityClass: a pod makes room for a more important one",
  async run({ admin, namespace, nodes, unique }) {
    const slot = "interop.dray.test/slot";
    const node = nodes.at(-1)!.name;
    const slots = { [slot]: "1" };
    await admin
      .resource(Node)
      .patch(
        { name: node },
        "merge",
        { status: { capacity: slots, allocatable: slots } },
        { subresource: "status" },
      );
    await admin.resource(PriorityClass).create({ metadata: { name: unique }, value: 1000 });
    const resources = { requests: slots, limits: slots };
    const containers = [{ name: "main", image: "registry.k8s.io/pause:3.10", resources }];
    const pods = admin.resource(Pod);
    await pods.create(podDraft(namespace, "interop-low", { containers }));
    await eventually("the first runs", async () =>
      isReady(await pods.get({ namespace, name: "interop-low" })),
    );
    const high = await pods.create(
      podDraft(namespace, "interop-high", { containers, priorityClassName: unique }),
    );
    assert.equal(high.spec.priority, 1000);
    await eventually("the second runs instead", async () => {
      const left = (await pods.list({ namespace })).items;
      return left.length === 1 && left[0]!.metadata.name === "interop-high" && isReady(left[0]!);
    });
    await admin.resource(PriorityClass).delete({ name: unique });
  },
};

const addressRange: Scenario = {
  name: "ServiceCIDR: ready, used, deleted",
  async run({ admin, unique }) {
    const ranges = admin.resource(ServiceCIDR);
    const ready = (name: string) =>
      eventually(`${name} is ready`, async () => {
        const { status } = await ranges.get({ name });
        return status?.conditions?.some(
          (condition) => condition.type === "Ready" && condition.status === "True",
        );
      });
    await ready("kubernetes");
    await ranges.create({ metadata: { name: unique }, spec: { cidrs: ["10.97.0.0/24"] } });
    await ready(unique);
    await ranges.delete({ name: unique });
    await eventually("it is gone", async () => {
      return !(await ranges.list()).items.some(({ metadata }) => metadata.name === unique);
    });
  },
};

export const services: readonly Scenario[] = [endpoints, disruption, autoscaler, preemption, addressRange];
