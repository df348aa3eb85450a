import type { PersistentVolumeClaim } from "../../../generated/core/v1.ts";
import { roundResources } from "../pod/defaults.ts";

export function defaultPersistentVolumeClaim(claim: PersistentVolumeClaim): void {
  claim.spec ??= {};
  claim.status ??= {};
  claim.status.phase ||= "Pending";
  claim.spec.volumeMode ??= "Filesystem";
  roundResources(claim.spec.resources?.requests);
  roundResources(claim.spec.resources?.limits);
}
