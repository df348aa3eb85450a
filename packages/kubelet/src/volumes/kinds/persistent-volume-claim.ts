import { claimVolume } from "../claim-volume.ts";
import type { VolumePlugin } from "../plugin.ts";

export const persistentVolumeClaim: VolumePlugin<"persistentVolumeClaim"> = {
  field: "persistentVolumeClaim",
  name: "persistent-claim",
  apiReference: () => "persistentvolumeclaims",
  setUp: ({ pod, source: { claimName, readOnly = false }, isFirst }, host) =>
    claimVolume({ pod, claimName, isOwned: false, readOnly, isFirst }, host),
};
