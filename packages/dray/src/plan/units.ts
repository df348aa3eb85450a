import type { Features } from "@dray/api";
import type { Pod } from "@dray/api/core/v1";
import { hasPodGroups, type OfflineScheduler, type Placement } from "@dray/scheduler";
import type { OriginPod } from "./workloads.ts";

export const isBound = ({ spec }: Pod): boolean => (spec.nodeName ?? "") !== "";

/** Pods that a scheduler handles together: one pod, or all waiting pods of a group. */
export interface PodUnit {
  readonly pods: readonly OriginPod[];
  readonly isGroup: boolean;
}

/**
 * Returns the waiting pods in the order of the scheduler: by priority, then as given; those of a group with
 * its first one.
 */
export function waitingUnits(
  pods: readonly OriginPod[],
  features: Features,
  order: (a: Pod, b: Pod) => number = () => 0,
): PodUnit[] {
  const hasGroups = hasPodGroups(features);
  const groupOf = ({ object: { spec } }: OriginPod): string | undefined =>
    hasGroups ? spec.schedulingGroup?.podGroupName : undefined;
  const waiting = pods
    .filter(({ object, refusal }) => !isBound(object) && refusal === undefined)
    .toSorted(
      ({ object: a }, { object: b }) => (b.spec.priority ?? 0) - (a.spec.priority ?? 0) || order(a, b),
    );
  const units = Map.groupBy(waiting, (each): OriginPod | string => {
    const group = groupOf(each);
    return group === undefined ? each : `${each.object.metadata.namespace}/${group}`;
  });
  return [...units.values()].map((pods) => ({ pods, isGroup: groupOf(pods[0]!) !== undefined }));
}

/**
 * Schedules the pods of a unit in order. Calls `refused` for each pod of a group that no node accepts, while
 * those before it hold their devices.
 */
export async function scheduleUnit(
  scheduler: OfflineScheduler,
  { pods, isGroup }: PodUnit,
  refused?: (pod: OriginPod, placement: Placement & { readonly type: "refused" }) => void,
): Promise<readonly Placement[]> {
  if (!isGroup) return [await scheduler.schedule(pods[0]!.object)];
  return scheduler.scheduleGroup(
    pods.map(({ object }) => object),
    (pod, placement) => {
      const each = pods.find(({ object }) => object === pod);
      if (each !== undefined) refused?.(each, placement);
    },
  );
}
