import type { PersistentVolume, PersistentVolumeClaim, Pod } from "@dray/api/core/v1";
import type {
  CSIDriver,
  CSINode,
  CSIStorageCapacity,
  StorageClass,
  VolumeAttachment,
} from "@dray/api/storage/v1";
import type { ClusterEvent } from "../../framework/framework.ts";

/** Volumes of a cluster and their topology, from caches. */
export interface VolumeLookup {
  claim(namespace: string, name: string): PersistentVolumeClaim | undefined;
  volume(name: string): PersistentVolume | undefined;
  /** All of a class; "" is the class of volumes without one. */
  volumesOf(storageClass: string): readonly PersistentVolume[];
  storageClass(name: string): StorageClass | undefined;
  csiNode(name: string): CSINode | undefined;
  csiDriver(name: string): CSIDriver | undefined;
  /** Free capacity of a class, over all topology segments. */
  capacitiesOf(storageClass: string): readonly CSIStorageCapacity[];
  attachmentsOn(node: string): readonly VolumeAttachment[];
}

/** A volume of a pod that is a claim. */
export interface PodClaim {
  readonly name: string;
  /** Made for this volume alone. */
  readonly ephemeral: boolean;
}

const none: readonly PodClaim[] = [];

/** The claims of a pod's volumes; those of ephemeral volumes go by the name of pod and volume. */
export function podClaims({ metadata, spec }: Pod): readonly PodClaim[] {
  if (spec.volumes === undefined || spec.volumes.length === 0) return none;
  return spec.volumes.flatMap(({ name, persistentVolumeClaim, ephemeral }): PodClaim[] => {
    if (persistentVolumeClaim !== undefined)
      return [{ name: persistentVolumeClaim.claimName, ephemeral: false }];
    return ephemeral === undefined ? [] : [{ name: `${metadata.name}-${name}`, ephemeral: true }];
  });
}

/** Those that the pod names itself. */
export function namedClaims(pod: Pod): readonly string[] {
  return podClaims(pod).flatMap(({ name, ephemeral }) => (ephemeral ? [] : [name]));
}

/** Upstream: component-helpers/storage/volume, GetPersistentVolumeClaimClass */
export function classOf({ metadata, spec }: PersistentVolumeClaim): string {
  return metadata.annotations?.["volume.beta.kubernetes.io/storage-class"] ?? spec?.storageClassName ?? "";
}

export function classOfVolume({ metadata, spec }: PersistentVolume): string {
  return metadata.annotations?.["volume.beta.kubernetes.io/storage-class"] ?? spec?.storageClassName ?? "";
}

/** Reports whether the event is about a claim of the pod. */
export function isOwnClaim(pod: Pod, event: ClusterEvent & { readonly kind: "volume" }): boolean {
  const { kind, metadata } = event.object;
  return (
    kind === "PersistentVolumeClaim" &&
    event.change !== "delete" &&
    metadata.namespace === pod.metadata.namespace &&
    podClaims(pod).some(({ name }) => name === metadata.name)
  );
}
