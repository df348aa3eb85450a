import type { CSIDriver, StorageClass, VolumeAttachment } from "../generated/storage/v1.ts";
import { roundResources } from "./pod.ts";
import { defaultVolumeSources } from "./volume-sources.ts";

export function defaultStorageClass(storageClass: StorageClass): void {
  storageClass.reclaimPolicy ??= "Delete";
  storageClass.volumeBindingMode ??= "Immediate";
}

export function defaultDriver(driver: CSIDriver): void {
  driver.spec ??= {};
  const { spec } = driver;
  spec.attachRequired ??= true;
  spec.podInfoOnMount ??= false;
  spec.storageCapacity ??= false;
  spec.fsGroupPolicy ??= "ReadWriteOnceWithFSType";
  if ((spec.volumeLifecycleModes ?? []).length === 0) spec.volumeLifecycleModes = ["Persistent"];
  spec.requiresRepublish ??= false;
  spec.seLinuxMount ??= false;
}

export function defaultAttachment({ spec }: VolumeAttachment): void {
  const inline = spec?.source?.inlineVolumeSpec;
  if (!inline) return;
  defaultVolumeSources(inline);
  roundResources(inline.capacity);
}
