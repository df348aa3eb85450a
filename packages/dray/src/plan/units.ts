import type { Features } from "@dray/api";
import type { Pod } from "@dray/api/core/v1";
import { hasPodGroups, type OfflineScheduler, type Placement } from "@dray/scheduler";
import type { OriginPod } from "./workloads.ts";

export const isBound = ({ spec }: Pod): boolean => (spec.nodeName ?? "") !== "";

/** Pods that a scheduler takes together: one, or all of a group that wait. */
export interface PodUnit {
  readonly pods: readonly OriginPod[];
  readonly isGroup: boolean;
}

/**
 * The pods that wait, in the order in which a scheduler takes them: by priority, then as they were given;
 * those of a group with its first one.
 */
export function waitingUnits(pods: readonly OriginPod[], features: Features): PodUnit[] {
  const hasGroups = hasPodGroups(features);
  const groupOf = ({ object: { spec } }: OriginPod): string | undefined =>
    hasGroups ? spec.schedulingGroup?.podGroupName : undefined;
  const waiting = pods
    .filter(({ object, refusal }) => !isBound(object) && refusal === undefined)
    .toSorted((a, b) => (b.object.spec.priority ?? 0) - (a.object.spec.priority ?? 0));
  const units = Map.groupBy(waiting, (each): OriginPod | string => {
    const group = groupOf(each);
    return group === undefined ? each : `${each.object.metadata.namespace}/${group}`;
  });
  return [...units.values()].map((pods) => ({ pods, isGroup: groupOf(pods[0]!) !== undefined }));
}

/**
 * Decides about the pods of a unit, in their order. `refused` is called for each pod of a group that no node
 * takes, while those before it hold their devices.
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
