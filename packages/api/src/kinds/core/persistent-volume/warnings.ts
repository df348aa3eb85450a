import { annotationWarnings } from "../../../checks/warnings/common.ts";
import { termWarnings } from "../../../checks/warnings/node-labels.ts";
import type { PersistentVolume } from "../../../generated/core/v1.ts";
import { betaStorageClass } from "../persistent-volume-claim/warnings.ts";

export function volumeWarnings(volume: PersistentVolume): string[] {
  const { spec } = volume;
  const types = {
    cephfs: "deprecated in v1.28, non-functional in v1.31+",
    photonPersistentDisk: "deprecated in v1.11, non-functional in v1.16+",
    scaleIO: "deprecated in v1.16, non-functional in v1.22+",
    storageos: "deprecated in v1.22, non-functional in v1.25+",
    glusterfs: "deprecated in v1.25, non-functional in v1.26+",
    rbd: "deprecated in v1.28, non-functional in v1.31+",
  } as const;
  return [
    ...annotationWarnings(volume, {
      [betaStorageClass]: 'deprecated since v1.8; use "storageClassName" attribute instead',
      "volume.beta.kubernetes.io/mount-options":
        'deprecated since v1.31; use "mountOptions" attribute instead',
    }),
    ...(spec?.persistentVolumeReclaimPolicy === "Recycle"
      ? [
          "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.",
        ]
      : []),
    ...(spec?.nodeAffinity?.required?.nodeSelectorTerms ?? []).flatMap((term, index) =>
      termWarnings(`spec.nodeAffinity.required.nodeSelectorTerms[${index}]`, term, false),
    ),
    ...Object.entries(types)
      .filter(([name]) => spec?.[name as keyof typeof types])
      .map(([name, text]) => `spec.${name === "storageos" ? "storageOS" : name}: ${text}`),
  ];
}
