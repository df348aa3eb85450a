import type { Pod, PodResourceClaim } from "@dray/api/core/v1";

/** The phase says that no container runs and none will. */
export function isTerminal(pod: Pod): boolean {
  return pod.status?.phase === "Succeeded" || pod.status?.phase === "Failed";
}

/** Whether it is certain that the pod does not run and never will. */
export function isDone(pod: Pod): boolean {
  return isTerminal(pod) || (pod.metadata.deletionTimestamp !== undefined && !pod.spec.nodeName);
}

/** Neither finished nor being deleted. */
export function isActive(pod: Pod): boolean {
  return !isTerminal(pod) && pod.metadata.deletionTimestamp === undefined;
}

export function isReady(pod: Pod): boolean {
  return pod.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True") === true;
}

/** Milliseconds since the epoch at which the pod became ready, if it is. */
export function readySince(pod: Pod): number | undefined {
  const ready = pod.status?.conditions?.find(({ type }) => type === "Ready");
  if (ready?.status !== "True") return undefined;
  return ready.lastTransitionTime === undefined ? 0 : Date.parse(ready.lastTransitionTime);
}

/** Ready for at least so long. */
export function isAvailable(pod: Pod, minReadySeconds: number, now: number): boolean {
  const since = readySince(pod);
  return since !== undefined && (minReadySeconds === 0 || since + minReadySeconds * 1000 <= now);
}

/**
 * The name of the claim that an entry of `spec.resourceClaims` stands for: undefined while it has not been created
 * from its template yet, null where the status says that none is needed.
 */
export function claimNameOf(pod: Pod, entry: PodResourceClaim): string | null | undefined {
  if (entry.resourceClaimName !== undefined) return entry.resourceClaimName;
  const status = pod.status?.resourceClaimStatuses?.find(({ name }) => name === entry.name);
  return status === undefined ? undefined : (status.resourceClaimName ?? null);
}
