import type { PersistentVolumeClaimSpec } from "../../../generated/core/v1.ts";
import { fractionWarnings } from "../pod/warnings.ts";

export function claimWarnings(path: string, spec: PersistentVolumeClaimSpec | undefined): string[] {
  return [
    ...fractionWarnings(`${path}.resources.requests`, spec?.resources?.requests),
    ...fractionWarnings(`${path}.resources.limits`, spec?.resources?.limits),
  ];
}

export const betaStorageClass = "volume.beta.kubernetes.io/storage-class";
