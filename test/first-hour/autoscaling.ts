import assert from "node:assert/strict";
import { Deployment } from "@dray/api/apps/v1";
import { HorizontalPodAutoscaler } from "@dray/api/autoscaling/v2";
import { NodeMetrics, PodMetrics } from "@dray/api/metrics/v1beta1";
import type { Client } from "@dray/client";
import { eventually } from "@dray/testing/eventually";

const ref = { namespace: "default", name: "busy" };

/** A Deployment whose pods use more CPU than its HorizontalPodAutoscaler wants. */
export async function createAutoscaled(api: Client): Promise<void> {
  const labels = { app: ref.name };
  const busy = "setInterval(() => { const end = Date.now() + 10; while (Date.now() < end); }, 100)";
  const container = {
    name: "main",
    image: "example.com/node:1",
    args: ["-e", busy],
    resources: { requests: { cpu: "10m" } },
  };
  await api.resource(Deployment).create({
    metadata: ref,
    spec: {
      ...{ replicas: 1, selector: { matchLabels: labels } },
      template: { metadata: { labels }, spec: { containers: [container] } },
    },
  });
  const target = { type: "Utilization", averageUtilization: 50 };
  await api.resource(HorizontalPodAutoscaler).create({
    metadata: ref,
    spec: {
      scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: ref.name },
      ...{ minReplicas: 1, maxReplicas: 2 },
      metrics: [{ type: "Resource", resource: { name: "cpu", target } }],
    },
  });
}

/** Checks the figures that `kubectl top` reads, and that the autoscaler has scaled by them. */
export async function checkAutoscaled(api: Client): Promise<void> {
  await eventually("the autoscaler makes a second pod", async () => {
    const { spec } = await api.resource(Deployment).get(ref);
    return spec.replicas === 2;
  });
  const { items } = await api.resource(PodMetrics).list({ namespace: ref.namespace });
  const pod = items.find(({ metadata }) => metadata.name.startsWith(`${ref.name}-`));
  const { cpu = "0", memory = "0" } = pod?.containers[0]?.usage ?? {};
  assert.match(cpu, /^[1-9]\d*n$|^[1-9]\d*u$|^[1-9]\d*m$/);
  assert.match(memory, /^[1-9]\d*(Ki|Mi)?$/);
  const nodes = await api.resource(NodeMetrics).list();
  assert.ok(nodes.items.length > 0);
}
