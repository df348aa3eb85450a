import type { PersistentVolume } from "../../../generated/core/v1.ts";
import type { Wire } from "../../../objects/wire.ts";
import { defaultHostPath } from "../host-path-defaults.ts";
import { roundResources } from "../pod/defaults.ts";

export function defaultPersistentVolume(volume: Wire<PersistentVolume>): void {
  volume.spec ??= {};
  volume.status ??= {};
  volume.status.phase ||= "Pending";
  volume.spec.persistentVolumeReclaimPolicy ||= "Retain";
  volume.spec.volumeMode ??= "Filesystem";
  defaultHostPath(volume.spec.hostPath);
  roundResources(volume.spec.capacity);
}
