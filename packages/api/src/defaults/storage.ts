import type { CSIDriver, StorageClass, VolumeAttachment } from "../generated/storage/v1.ts";
import { roundResources } from "./pod.ts";
import { defaultVolumeSources } from "./volume-sources.ts";

export function defaultStorageClass(storageClass: StorageClass): void {
  storageClass.reclaimPolicy ??= "Delete";
  storageClass.volumeBindingMode ??= "Immediate";
}

export function defaultDriver(driver: CSIDriver, _now: string, release: string): void {
  driver.spec ??= {};
  const { spec } = driver;
  spec.attachRequired ??= true;
  spec.podInfoOnMount ??= false;
  spec.storageCapacity ??= false;
  spec.fsGroupPolicy ??= "ReadWriteOnceWithFSType";
  if ((spec.volumeLifecycleModes ?? []).length === 0) spec.volumeLifecycleModes = ["Persistent"];
  spec.requiresRepublish ??= false;
  spec.seLinuxMount ??= false;
  // VolumeLimitScaling
  if (release >= "1.37") spec.preventPodSchedulingIfMissing ??= false;
}

export function defaultAttachment({ spec }: VolumeAttachment): void {
  const inline = spec?.source?.inlineVolumeSpec;
  if (!inline) return;
  defaultVolumeSources(inline);
  roundResources(inline.capacity);
}
