import { claimVolume } from "../claim-volume.ts";
import type { VolumePlugin } from "../plugin.ts";

/** Volumes of a claim that was made for the pod, and has the name of the pod and the volume. */
export const ephemeral: VolumePlugin<"ephemeral"> = {
  field: "ephemeral",
  name: "ephemeral",
  apiReference: () => "persistentvolumeclaims",
  setUp: ({ pod, name, isFirst }, host) =>
    claimVolume(
      { pod, claimName: `${pod.metadata.name}-${name}`, isOwned: true, readOnly: false, isFirst },
      host,
    ),
};
