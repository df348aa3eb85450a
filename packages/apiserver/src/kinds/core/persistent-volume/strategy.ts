import type { PersistentVolume } from "@dray/api/core/v1";
import type { Strategy } from "../../strategy.ts";

export const persistentVolumeStrategy: Strategy<PersistentVolume> = {
  prepareForCreate(object, context) {
    object.status = { phase: "Pending", lastPhaseTransitionTime: context.now };
  },

  prepareForUpdate(volume, before, context) {
    if (context.subresource !== "status" || !volume.status) return;
    const changed = volume.status.phase !== before.status?.phase;
    const [time, last] = [volume.status.lastPhaseTransitionTime, before.status?.lastPhaseTransitionTime];
    if (changed && (time === undefined || time === last)) volume.status.lastPhaseTransitionTime = context.now;
    else if (!changed && time === undefined && last !== undefined)
      volume.status.lastPhaseTransitionTime = last;
  },
};
