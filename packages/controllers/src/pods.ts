import type { Pod } from "@dray/api/core/v1";
import { isPodTerminal } from "@dray/api/pod";

/** Whether it is certain that the pod does not run and never will. */
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
