import type { ContainerStatus, Pod } from "@dray/api/core/v1";
import { isSidecar } from "@dray/api/pod";

/** Milliseconds before a failed pod is replaced, doubled with each failure, and their maximum. */
const firstDelay = 10_000;
const maxDelay = 600_000;

/** Failures of a Job since its last success. */
export interface JobFailures {
  readonly count: number;
  /** Milliseconds since the epoch. */
  readonly last: number;
}

const noFailures: JobFailures = { count: 0, last: 0 };

/**
 * The failures of a Job when these pods have ended. Upstream: pkg/controller/job/backoff_utils.go,
 * newBackoffRecord.
 */
export function failuresAfter(
  before: JobFailures | undefined,
  succeeded: readonly Pod[],
  failed: readonly Pod[],
): JobFailures {
  const latest = (pods: readonly Pod[]): number =>
    pods.reduce((most, pod) => Math.max(most, finishedAt(pod)), 0);
  if (succeeded.length === 0) {
    if (failed.length === 0) return before ?? noFailures;
    return { count: (before?.count ?? 0) + failed.length, last: latest(failed) };
  }
  const success = latest(succeeded);
  const later = failed.filter((pod) => finishedAt(pod) > success);
  return later.length === 0 ? noFailures : { count: later.length, last: latest(later) };
}

/** Milliseconds until the next pod may be made. */
export function delayAfter({ count, last }: JobFailures, now: number): number {
  if (count === 0) return 0;
  return Math.max(0, last + Math.min(firstDelay * 2 ** Math.min(count - 1, 16), maxDelay) - now);
}

/** Time at which a pod ended, in milliseconds since the epoch, by its status. */
export function finishedAt(pod: Pod): number {
  const { metadata, status } = pod;
  const containers = lastEnd(status?.containerStatuses ?? []);
  const sidecars = new Set((pod.spec.initContainers ?? []).filter(isSidecar).map(({ name }) => name));
  const beside = (status?.initContainerStatuses ?? []).filter(({ name }) => sidecars.has(name));
  const ended = containers === undefined ? undefined : lastEnd(beside, containers);
  if (ended !== undefined) return ended;
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  if (ready?.status === "False" && ready.lastTransitionTime !== undefined)
    return Date.parse(ready.lastTransitionTime);
  if (metadata.deletionTimestamp !== undefined) {
    const grace = Number(metadata.deletionGracePeriodSeconds ?? 0) * 1000;
    return Date.parse(metadata.deletionTimestamp) - grace;
  }
  return Date.parse(metadata.creationTimestamp);
}

/** Undefined if one of the containers has not ended. */
function lastEnd(statuses: readonly ContainerStatus[], from?: number): number | undefined {
  let last = from;
  for (const { state } of statuses) {
    const at = state?.terminated?.finishedAt;
    if (at === undefined) return undefined;
    last = Math.max(last ?? 0, Date.parse(at));
  }
  return last;
}
