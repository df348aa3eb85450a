import type { PersistentVolumeClaim } from "../../../generated/core/v1.ts";
import type { Wire } from "../../../objects/wire.ts";
import { roundResources } from "../pod/defaults.ts";

export function defaultPersistentVolumeClaim(claim: Wire<PersistentVolumeClaim>): void {
  claim.spec ??= {};
  claim.status ??= {};
  claim.status.phase ||= "Pending";
  claim.spec.volumeMode ??= "Filesystem";
  roundResources(claim.spec.resources?.requests);
  roundResources(claim.spec.resources?.limits);
}
