import assert from "node:assert/strict";
import { test } from "node:test";
import { ReplicaSet } from "@dray/api/apps/v1";
import { HorizontalPodAutoscaler } from "@dray/api/autoscaling/v2";
import { Pod } from "@dray/api/core/v1";
import { PodMetrics } from "@dray/api/metrics/v1beta1";
import { timeText } from "@dray/client";
import {
  type ControllerContext,
  startHorizontalPodAutoscalerController,
  startReplicaSetController,
} from "@dray/controllers";
import { killedAtEveryWrite, type TestCluster, withCluster } from "../testing/cluster.ts";

const ref = { namespace: "d", name: "web" };

/** Returns the context with a metrics API that reports `cpu` for each pod. */
function measuring(context: ControllerContext, cpu: () => string | undefined): ControllerContext {
  const { client, clock, informers } = context;
  const list = async () => ({
    resourceVersion: "1",
    items: informers
      .of(Pod)
      .list()
      .flatMap(({ metadata }): PodMetrics[] => {
        const used = cpu();
        if (used === undefined) return [];
        const containers = [{ name: "c", usage: { cpu: used, memory: "64Mi" } }];
        const timestamp = timeText(clock.now());
        return [
          {
            apiVersion: "metrics.k8s.io/v1beta1",
            kind: "PodMetrics",
            metadata,
            timestamp,
            window: "30s",
            containers,
          },
        ];
      }),
  });
  const measured: typeof client.resource = (kind, options) =>
    kind.group === PodMetrics.group
      ? ({ ...client.resource(kind, options), list } as never)
      : client.resource(kind, options);
  return { ...context, client: { ...client, resource: measured } };
}

/** Runs a test with autoscaler and ReplicaSets on a cluster whose pods use `cpu`. */
function onCluster(
  cpu: () => string | undefined,
  run: (cluster: TestCluster) => Promise<void>,
): Promise<void> {
  return withCluster(
    (context) =>
      Promise.all([
        startHorizontalPodAutoscalerController(measuring(context, cpu)),
        startReplicaSetController(context),
      ]),
    run,
  );
}

const autoscaler = (more: object = {}): object => ({
  metadata: { name: "web" },
  spec: {
    scaleTargetRef: { apiVersion: "apps/v1", kind: "ReplicaSet", name: "web" },
    minReplicas: 1,
    maxReplicas: 10,
    ...more,
  },
});

async function replicaSet(cluster: TestCluster, replicas: number): Promise<void> {
  await cluster.node("a");
  const resources = { requests: { cpu: "100m" } };
  await cluster.create(ReplicaSet, {
    metadata: { name: "web" },
    spec: {
      replicas,
      selector: { matchLabels: { app: "web" } },
      template: {
        metadata: { labels: { app: "web" } },
        spec: { containers: [{ name: "c", image: "one", resources }] },
      },
    },
  });
}

/** Runs the pods, and waits until `replicas` are desired. */
async function sized(cluster: TestCluster, replicas: number): Promise<HorizontalPodAutoscaler> {
  await cluster.until(`${replicas} replicas`, async () => {
    await cluster.finishDeletions();
    for (const pod of await cluster.list(Pod)) {
      if (pod.status?.phase !== "Pending") continue;
      await cluster.run(pod, "a");
      await cluster.setStatus(pod, { startTime: timeText(cluster.clock.now() - 3_600_000) });
    }
    cluster.clock.advance(5_000);
    return (await cluster.get(ReplicaSet, "web")).spec.replicas === replicas;
  });
  return cluster.until("its status", async () => {
    cluster.clock.advance(100);
    const now = await cluster.get(HorizontalPodAutoscaler, "web");
    return now.status?.desiredReplicas === replicas && now;
  });
}

const holding = ({ status }: HorizontalPodAutoscaler): string[] =>
  (status?.conditions ?? []).map(({ type, status: state, reason }) => `${type} ${state} ${reason}`).sort();

test("more pods while they are busy, fewer when they have been idle for five minutes", () => {
  let cpu = "160m";
  return onCluster(
    () => cpu,
    async (cluster) => {
      await replicaSet(cluster, 2);
      await cluster.create(HorizontalPodAutoscaler, autoscaler());
      // 160% of the requests, where 80% are wanted.
      const busy = await sized(cluster, 4);
      assert.deepEqual(holding(busy), [
        "AbleToScale True SucceededRescale",
        "ScaledToZero False NotScaledToZero",
        "ScalingActive True ValidMetricFound",
        "ScalingLimited False DesiredWithinRange",
      ]);
      assert.equal(busy.status?.currentReplicas, 2);
      assert.ok(busy.status?.lastScaleTime);
      assert.deepEqual(busy.status?.currentMetrics, [
        {
          type: "Resource",
          resource: { name: "cpu", current: { averageUtilization: 160, averageValue: "160m" } },
        },
      ]);
      assert.ok(
        (await cluster.events()).includes(
          "Normal SuccessfulRescale New size: 4; reason: cpu resource utilization (percentage of request) above target",
        ),
      );
      cpu = "10m";
      cluster.clock.advance(60_000);
      await cluster.settle();
      assert.equal((await cluster.get(ReplicaSet, "web")).spec.replicas, 4);
      await sized(cluster, 1);
      assert.ok(
        (await cluster.events()).includes(
          "Normal SuccessfulRescale New size: 1; reason: All metrics below target",
        ),
      );
    },
  );
});

test("sizes outside the range are brought into it; a target of zero is left alone", () =>
  onCluster(
    () => "80m",
    async (cluster) => {
      await replicaSet(cluster, 1);
      await cluster.create(HorizontalPodAutoscaler, autoscaler({ minReplicas: 3 }));
      await sized(cluster, 3);
      await cluster.client.resource(ReplicaSet).patch(ref, "merge", { spec: { replicas: 0 } });
      cluster.clock.advance(15_000);
      const now = await cluster.until("disabled", async () => {
        const found = await cluster.get(HorizontalPodAutoscaler, "web");
        return holding(found).includes("ScalingActive False ScalingDisabled") && found;
      });
      assert.equal(now.status?.desiredReplicas, 0);
      const events = await cluster.events();
      const below =
        "Normal SuccessfulRescale New size: 3; reason: Current number of replicas below Spec.MinReplicas";
      assert.ok(events.includes(below), events.join("\n"));
    },
  ));

test("an external metric takes the last pods away, and brings them back", () => {
  let waiting = "0";
  const items = () => [{ value: waiting, timestamp: "2026-01-01T00:00:00Z" }];
  return withCluster(
    (context) => {
      const text: ControllerContext["client"]["text"] = async (method, url, options) =>
        url.startsWith("/apis/external.metrics.k8s.io/v1beta1/namespaces/d/queue")
          ? JSON.stringify({ items: items() })
          : context.client.text(method, url, options);
      const measured = { ...context, client: { ...context.client, text } };
      return Promise.all([
        startHorizontalPodAutoscalerController(measured),
        startReplicaSetController(context),
      ]);
    },
    async (cluster) => {
      await replicaSet(cluster, 2);
      const target = { type: "AverageValue", averageValue: "10" };
      const metrics = [{ type: "External", external: { metric: { name: "queue" }, target } }];
      const behavior = { scaleDown: { stabilizationWindowSeconds: 0 } };
      await cluster.create(HorizontalPodAutoscaler, autoscaler({ minReplicas: 0, metrics, behavior }));
      const idle = await sized(cluster, 0);
      assert.ok(holding(idle).includes("ScaledToZero True ScaledToZero"), holding(idle).join());
      waiting = "25";
      const busy = await sized(cluster, 3);
      assert.ok(holding(busy).includes("ScaledToZero False NotScaledToZero"));
    },
  );
});

/** The conditions of an autoscaler that can do nothing. */
async function stuck(cluster: TestCluster, reason: string): Promise<string> {
  return cluster.until(reason, async () => {
    const { status } = await cluster.get(HorizontalPodAutoscaler, "web");
    return status?.conditions?.find((condition) => condition.reason === reason)?.message;
  });
}

test("conditions and events report missing metrics", () =>
  onCluster(
    () => undefined,
    async (cluster) => {
      await replicaSet(cluster, 1);
      await cluster.create(HorizontalPodAutoscaler, autoscaler());
      const detail =
        "failed to get cpu utilization: unable to get metrics for resource cpu: no metrics returned from resource metrics API";
      assert.equal(
        await stuck(cluster, "FailedGetResourceMetric"),
        `the HPA was unable to compute the replica count: ${detail}`,
      );
      const change = (spec: object): Promise<HorizontalPodAutoscaler> =>
        cluster.client.resource(HorizontalPodAutoscaler).patch(ref, "merge", { spec });
      const target = { type: "AverageValue", averageValue: "10" };
      await change({ metrics: [{ type: "Pods", pods: { metric: { name: "requests" }, target } }] });
      assert.equal(
        await stuck(cluster, "FailedGetPodsMetric"),
        "the HPA was unable to compute the replica count: unable to get metric requests: unable to fetch metrics from custom metrics API: no custom metrics API (custom.metrics.k8s.io) registered",
      );
      const describedObject = { kind: "Service", name: "web", apiVersion: "v1" };
      await change({
        metrics: [{ type: "Object", object: { metric: { name: "hits" }, target, describedObject } }],
      });
      assert.match(
        await stuck(cluster, "FailedGetObjectMetric"),
        /unable to get metric hits on Service d\/web: /,
      );
      await change({ metrics: [{ type: "External", external: { metric: { name: "queue" }, target } }] });
      assert.match(
        await stuck(cluster, "FailedGetExternalMetric"),
        /unable to get external metric d\/queue\/nil: unable to fetch metrics from external metrics API: the server could not find the requested resource \(get queue\.external\.metrics\.k8s\.io\)$/,
      );
      const events = await cluster.events();
      assert.ok(events.includes(`Warning FailedGetResourceMetric ${detail}`), events.join("\n"));
      assert.ok(
        events.includes(
          `Warning FailedComputeMetricsReplicas invalid metrics (1 invalid out of 1), first error is: failed to get cpu resource metric value: ${detail}`,
        ),
      );
      assert.equal((await cluster.get(ReplicaSet, "web")).spec.replicas, 1);
    },
  ));

test("conditions report a missing target and pods of two autoscalers", () =>
  onCluster(
    () => "80m",
    async (cluster) => {
      await cluster.create(HorizontalPodAutoscaler, autoscaler());
      assert.match(
        await stuck(cluster, "FailedGetScale"),
        /unable to get the target's current scale: .*not found/,
      );
      await replicaSet(cluster, 1);
      await sized(cluster, 1);
      await cluster.create(HorizontalPodAutoscaler, { ...autoscaler(), metadata: { name: "other" } });
      cluster.clock.advance(30_000);
      assert.match(
        await stuck(cluster, "AmbiguousSelector"),
        /pods by selector app=web are controlled by more than one HPA \(e\.g\. \[d\/(web|other) d\/(web|other)\]\)/,
      );
    },
  ));

test("killed at any write, the next one goes on", () =>
  killedAtEveryWrite(
    (context) =>
      Promise.all([
        startHorizontalPodAutoscalerController(measuring(context, () => "160m")),
        startReplicaSetController(context),
      ]),
    async (cluster) => {
      await replicaSet(cluster, 1);
      await cluster.create(HorizontalPodAutoscaler, autoscaler({ maxReplicas: 2 }));
      await sized(cluster, 2);
      await cluster.settle();
      assert.equal((await cluster.get(ReplicaSet, "web")).spec.replicas, 2);
    },
  ));
