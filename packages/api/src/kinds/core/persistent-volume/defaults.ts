import type { PersistentVolume } from "../../../generated/core/v1.ts";
import { roundResources } from "../pod/defaults.ts";
import { defaultVolumeSources } from "../volume-source-defaults.ts";

export function defaultPersistentVolume(volume: PersistentVolume): void {
  volume.spec ??= {};
  volume.status ??= {};
  volume.status.phase ||= "Pending";
  volume.spec.persistentVolumeReclaimPolicy ||= "Retain";
  volume.spec.volumeMode ??= "Filesystem";
  defaultVolumeSources(volume.spec);
  roundResources(volume.spec.capacity);
}
