import type { PersistentVolumeSpec, Volume } from "../../generated/core/v1.ts";

/** Sources with defaults that volumes of pods and persistent volumes share. */
type Sources = Pick<Volume | PersistentVolumeSpec, "hostPath" | "rbd" | "iscsi" | "azureDisk" | "scaleIO">;

/** Defaults of the sources of volumes (core/v1 `+default` and SetDefaults_HostPathVolumeSource). */
export function defaultVolumeSources({ hostPath, rbd, iscsi, azureDisk, scaleIO }: Sources): void {
  if (hostPath) hostPath.type ??= "";
  if (rbd) {
    rbd.pool ||= "rbd";
    rbd.user ||= "admin";
    rbd.keyring ||= "/etc/ceph/keyring";
  }
  if (iscsi) iscsi.iscsiInterface ||= "default";
  if (azureDisk) {
    azureDisk.cachingMode ??= "ReadWrite";
    azureDisk.fsType ??= "ext4";
    azureDisk.readOnly ??= false;
    azureDisk.kind ??= "Shared";
  }
  if (scaleIO) {
    scaleIO.storageMode ||= "ThinProvisioned";
    scaleIO.fsType ||= "xfs";
  }
}
