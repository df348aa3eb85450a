import type { Draft } from "@dray/api";
import { Pod, type PodSpec, type PodTemplateSpec } from "@dray/api/core/v1";
import type { Stage } from "../scenario.ts";

/** A container, and what the caller adds. */
const podSpec = (more: Partial<PodSpec> = {}): PodSpec => ({
  containers: [
    { name: "main", image: "registry.k8s.io/pause:3.10", resources: { requests: { cpu: "100m" } } },
  ],
  terminationGracePeriodSeconds: 1,
  ...more,
});

/** For pods with the label `app`. */
export const podTemplate = (app: string, more: Partial<PodSpec> = {}): PodTemplateSpec => ({
  metadata: { labels: { app } },
  spec: podSpec(more),
});

/** A pod by itself. */
export const podDraft = (namespace: string, name: string, more: Partial<PodSpec> = {}): Draft<Pod> => ({
  metadata: { namespace, name, labels: { app: name } },
  spec: podSpec(more),
});

/** The pods with the label `app` that are not being deleted. */
export async function livePods({ admin, namespace }: Stage, app: string): Promise<readonly Pod[]> {
  const { items } = await admin.resource(Pod).list({ namespace, labelSelector: `app=${app}` });
  return items.filter((pod) => pod.metadata.deletionTimestamp === undefined);
}

/** Whether the pod's condition `type` is True. */
export const isReady = (pod: Pod): boolean =>
  pod.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") ?? false;
