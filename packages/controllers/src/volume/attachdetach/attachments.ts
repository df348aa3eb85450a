import { createHash } from "node:crypto";
import { PersistentVolume, PersistentVolumeClaim, Pod } from "@dray/api/core/v1";
import { isPodTerminal } from "@dray/api/pod";
import { CSIDriver } from "@dray/api/storage/v1";
import type { Informers } from "../../shared/informers.ts";

/** A volume that has to be attached to a node before its kubelet can mount it. */
export interface WantedAttachment {
  readonly volume: PersistentVolume;
  readonly driver: string;
  /** As `volumesInUse` and `volumesAttached` of the Node have it. */
  readonly uniqueName: string;
  readonly pods: Pod[];
}

/** Upstream: pkg/volume/csi/csi_attacher.go, getAttachmentName. */
export function attachmentName({ spec }: PersistentVolume, node: string): string {
  const { driver = "", volumeHandle: handle = "" } = spec?.csi ?? {};
  return `csi-${createHash("sha256").update(`${handle}${driver}${node}`).digest("hex")}`;
}

/** Upstream: volume names of the CSI plugin. */
export function uniqueNameOf({ spec }: PersistentVolume): string {
  return `kubernetes.io/csi/${spec?.csi?.driver}^${spec?.csi?.volumeHandle}`;
}

/**
 * Attachments that the pods of a node need, by the name of the volume. An unknown driver is assumed to need
 * them.
 */
export function wantedAttachments(informers: Informers, node: string): Map<string, WantedAttachment> {
  const wanted = new Map<string, WantedAttachment>();
  for (const pod of informers.of(Pod).byIndex("node", node)) {
    if (isPodTerminal(pod)) continue;
    for (const volume of volumesOf(informers, pod)) {
      const driver = volume.spec?.csi?.driver;
      if (driver === undefined) continue;
      if (informers.of(CSIDriver).get({ name: driver })?.spec.attachRequired === false) continue;
      const { name } = volume.metadata;
      const entry = wanted.get(name) ?? { volume, driver, uniqueName: uniqueNameOf(volume), pods: [] };
      entry.pods.push(pod);
      wanted.set(name, entry);
    }
  }
  return wanted;
}

/** The bound volumes of a pod; the claim of an ephemeral volume is named after both. */
function* volumesOf(informers: Informers, { metadata, spec }: Pod): Generator<PersistentVolume> {
  for (const { name, persistentVolumeClaim, ephemeral } of spec.volumes ?? []) {
    const claimName = persistentVolumeClaim?.claimName ?? (ephemeral && `${metadata.name}-${name}`);
    if (claimName === undefined) continue;
    const { namespace } = metadata;
    const claim = informers.of(PersistentVolumeClaim).get({ namespace, name: claimName });
    const volume = informers.of(PersistentVolume).get({ name: claim?.spec?.volumeName ?? "" });
    if (volume !== undefined && volume.spec?.claimRef?.uid === claim?.metadata.uid) yield volume;
  }
}

/** Reports whether several nodes may have it at a time. */
export function isShared({ spec }: PersistentVolume): boolean {
  return (spec?.accessModes ?? []).some((mode) => mode === "ReadWriteMany" || mode === "ReadOnlyMany");
}
