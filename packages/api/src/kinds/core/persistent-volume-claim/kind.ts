import { annotationWarnings } from "../../../checks/warnings/common.ts";
import { PersistentVolumeClaim } from "../../../generated/core/v1.ts";
import { defineKind } from "../../define.ts";
import { defaultPersistentVolumeClaim } from "./defaults.ts";
import { volumeClaimEvaluator } from "./quota.ts";
import { persistentVolumeClaimValidation } from "./validation.ts";
import { betaStorageClass, claimWarnings } from "./warnings.ts";

export const persistentVolumeClaim = defineKind(PersistentVolumeClaim, {
  defaults: defaultPersistentVolumeClaim,
  validation: persistentVolumeClaimValidation,
  warnings: (claim) => [
    ...annotationWarnings(claim, {
      [betaStorageClass]: 'deprecated since v1.8; use "storageClassName" attribute instead',
    }),
    ...claimWarnings("spec", claim.spec),
  ],
  quota: () => volumeClaimEvaluator,
});
