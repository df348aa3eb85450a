import type { Event, Pod } from "@dray/api/core/v1";

/** Time after which a state that should pass counts as stuck, in milliseconds. */
const stuckTimeout = 60_000;
/** Maximum age of events, in milliseconds: a kubelet that still fails repeats them. */
const maxEventAge = 10 * 60_000;

export const isLongAgo = (time: string, now: number): boolean => now - Date.parse(time) > stuckTimeout;

export const isRecent = (time: string, now: number): boolean => now - Date.parse(time) <= maxEventAge;

/** When an event was last seen. */
export const lastTime = ({ series, lastTimestamp, eventTime, firstTimestamp }: Event): string =>
  series?.lastObservedTime ?? lastTimestamp ?? eventTime ?? firstTimestamp ?? "";

/** How often an event was seen. */
export const countOf = ({ series, count }: Event): number => Number(series?.count ?? count ?? 1);

/** Reports whether the condition Ready of a pod has this status for more than a minute. */
export function isLongReady({ status }: Pod, wanted: "True" | "False", now: number): boolean {
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  return ready?.status === wanted && isLongAgo(ready.lastTransitionTime ?? "", now);
}
