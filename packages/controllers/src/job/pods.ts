import type { Job } from "@dray/api/batch/v1";
import type { Container, Pod, PodTemplateSpec } from "@dray/api/core/v1";
import { byDeletionPreference } from "../shared/pod-ranking.ts";
import { matchPodFailurePolicy } from "./policies.ts";

/** Holds a pod of a Job until its end has been counted. */
export const trackingFinalizer = "batch.kubernetes.io/job-tracking";
const completionIndex = "batch.kubernetes.io/job-completion-index";
const indexFailures = "batch.kubernetes.io/job-index-failure-count";
const indexIgnoredFailures = "batch.kubernetes.io/job-index-ignored-failure-count";
const indexVariable = "JOB_COMPLETION_INDEX";
/** Upstream: k8s.io/apiserver/pkg/storage/names, MaxGeneratedNameLength. */
const maxPrefixLength = 58;

export const isTracked = (pod: Pod): boolean => pod.metadata.finalizers?.includes(trackingFinalizer) === true;
export const isIndexed = ({ spec }: Job): boolean => spec.completionMode === "Indexed";

/** Being deleted, and not at its end yet. */
export const isTerminating = ({ metadata, status }: Pod): boolean =>
  metadata.deletionTimestamp !== undefined && status?.phase !== "Succeeded" && status?.phase !== "Failed";

/** The completion index of a pod, if it has one below the number of completions. */
export function indexOf({ spec }: Job, pod: Pod): number | undefined {
  const text = pod.metadata.annotations?.[completionIndex];
  if (text === undefined || !/^[0-9]+$/.test(text)) return undefined;
  return Number(text) < (spec.completions ?? 0) ? Number(text) : undefined;
}

/**
 * A pod that is deleted counts as failed, unless it is replaced only when it has failed indeed (KEP-3939).
 */
export function hasFailed({ spec }: Job, { metadata, status }: Pod): boolean {
  if (status?.phase === "Failed") return true;
  if (spec.podReplacementPolicy === "Failed") return false;
  return metadata.deletionTimestamp !== undefined && status?.phase !== "Succeeded";
}

function countOf(pod: Pod, annotation: string): number {
  const text = pod.metadata.annotations?.[annotation] ?? "";
  const count = /^[0-9]+$/.test(text) ? Number(text) : 0;
  return count < 2 ** 31 ? count : 0;
}

/** Returns how often pods of this index have failed before this one. */
const countedFailures = (pod: Pod): number => countOf(pod, indexFailures);
export const allFailures = (pod: Pod): number => countedFailures(pod) + countOf(pod, indexIgnoredFailures);

/** Reports whether the index of a failed pod may not be tried again (KEP-3850). */
export function failsIndex(job: Job, pod: Pod): boolean {
  if (!hasFailed(job, pod)) return false;
  const { action, counts } = matchPodFailurePolicy(job, pod);
  if (action === "FailIndex") return true;
  return counts && countedFailures(pod) >= (job.spec.backoffLimitPerIndex ?? 0);
}

/** The template of pods that need no index. */
export function trackedTemplate(job: Job): PodTemplateSpec {
  const { template } = job.spec;
  const { finalizers = [] } = template.metadata ?? {};
  const tracked = finalizers.includes(trackingFinalizer) ? finalizers : [...finalizers, trackingFinalizer];
  return { ...template, metadata: { ...template.metadata, finalizers: tracked } };
}

/** The template of the pod with an index; `before` is the failed pod that it replaces. */
export function indexedTemplate(job: Job, index: number, before?: Pod): PodTemplateSpec {
  const { metadata, spec } = trackedTemplate(job);
  const { containers = [], initContainers } = spec ?? {};
  const annotations: Record<string, string> = { ...metadata?.annotations, [completionIndex]: String(index) };
  if (job.spec.backoffLimitPerIndex !== undefined) {
    const counts = before !== undefined && matchPodFailurePolicy(job, before).counts;
    const ignored = before === undefined ? 0 : countOf(before, indexIgnoredFailures) + (counts ? 0 : 1);
    const failures = before === undefined ? 0 : countedFailures(before) + (counts ? 1 : 0);
    annotations[indexFailures] = String(failures);
    if (ignored > 0) annotations[indexIgnoredFailures] = String(ignored);
  }
  return {
    metadata: {
      ...metadata,
      labels: { ...metadata?.labels, [completionIndex]: String(index) },
      annotations,
    },
    spec: {
      ...spec,
      containers: containers.map(withIndex),
      ...(initContainers === undefined ? {} : { initContainers: initContainers.map(withIndex) }),
      hostname: `${job.metadata.name}-${index}`,
    },
  };
}

function withIndex(container: Container): Container {
  if (container.env?.some(({ name }) => name === indexVariable)) return container;
  const fieldRef = { fieldPath: `metadata.labels['${completionIndex}']` };
  return { ...container, env: [...(container.env ?? []), { name: indexVariable, valueFrom: { fieldRef } }] };
}

/** The beginning of the name of a pod with this template. */
export function podPrefix({ metadata }: Job, template: PodTemplateSpec): string {
  const index = template.metadata?.annotations?.[completionIndex];
  if (index === undefined) return `${metadata.name}-`;
  const end = `-${index}-`;
  return `${metadata.name.slice(0, maxPrefixLength - end.length)}${end}`;
}

/** Pods that are too many: those without an index of their own, then the ones that can be spared best. */
export function superfluousPods(job: Job, active: readonly Pod[], atLeast: number): Pod[] {
  if (!isIndexed(job)) return atLeast === 0 ? [] : byDeletionPreference(active).slice(0, atLeast);
  const byIndex = Map.groupBy(active, (pod) => indexOf(job, pod));
  const ranked = [...byIndex].map(([index, pods]) => ({ index, spare: byDeletionPreference(pods) }));
  const left = ranked.flatMap(({ index, spare }) => (index === undefined ? [] : spare.splice(-1)));
  const surplus = ranked.flatMap(({ spare }) => spare);
  return [...surplus, ...byDeletionPreference(left).slice(0, Math.max(0, atLeast - surplus.length))];
}
