import type { ControllerRevision, StatefulSet, StatefulSetStatus } from "@dray/api/apps/v1";
import type { Pod } from "@dray/api/core/v1";
import { revisionHash } from "../history/revisions.ts";
import { isAvailable } from "../shared/pods.ts";
import { isRunningAndReady } from "./plan.ts";

/** The revisions between which a set is. */
export interface StatefulUpdate {
  readonly current: ControllerRevision;
  readonly update: ControllerRevision;
}

/** Upstream: pkg/controller/statefulset/stateful_set_control.go, updateStatus and completeUpdate. */
export function statefulStatus(
  set: StatefulSet,
  pods: readonly Pod[],
  revisions: StatefulUpdate,
  now: number,
): StatefulSetStatus {
  const [current, update] = [revisions.current.metadata.name, revisions.update.metadata.name];
  const { replicas: wanted = 1, minReadySeconds = 0 } = set.spec;
  const ready = pods.filter(isRunningAndReady);
  const activePods = pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const having = (revision: string): number =>
    activePods.filter(({ metadata }) => metadata.labels?.[revisionHash] === revision).length;
  const updated = having(update);
  const done = updated === wanted && ready.length === wanted && pods.length === wanted;
  const counts = {
    readyReplicas: ready.length,
    currentReplicas: done ? updated : having(current),
    updatedReplicas: updated,
  };
  const { generation } = set.metadata;
  const { conditions, collisionCount = 0 } = set.status ?? {};
  return {
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    replicas: pods.length,
    ...Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0)),
    currentRevision: done ? update : current,
    updateRevision: update,
    collisionCount,
    ...(conditions === undefined ? {} : { conditions }),
    availableReplicas: ready.filter((pod) => isAvailable(pod, minReadySeconds, now)).length,
  };
}
