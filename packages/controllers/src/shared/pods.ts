import type { Pod } from "@dray/api/core/v1";
import { isPodTerminal } from "@dray/api/pod";

/** Reports whether it is certain that the pod does not run and never will. */
export function isDone(pod: Pod): boolean {
  return isPodTerminal(pod) || (pod.metadata.deletionTimestamp !== undefined && !pod.spec.nodeName);
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

/** Milliseconds until the next of the pods that are ready counts as available. */
export function untilAvailable(
  pods: readonly Pod[],
  minReadySeconds: number,
  now: number,
): number | undefined {
  const times = pods.flatMap((pod) => {
    const since = readySince(pod);
    const wait = (since ?? 0) + minReadySeconds * 1000 - now;
    return since === undefined || wait <= 0 ? [] : [wait];
  });
  return times.length === 0 ? undefined : times.reduce((a, b) => Math.min(a, b));
}
