import { labelSelectorOf, matchesNode, Quantity } from "@dray/api";
import type { Node, PersistentVolume, PersistentVolumeClaim, Pod } from "@dray/api/core/v1";

/** The claims that a pod uses: those that it names and those of its ephemeral volumes. */
export function claimNames({ metadata, spec }: Pod): string[] {
  return (spec.volumes ?? []).flatMap(({ name, persistentVolumeClaim, ephemeral }) =>
    ephemeral !== undefined ? [`${metadata.name}-${name}`] : (persistentVolumeClaim?.claimName ?? []),
  );
}

/** Whether the volume is reserved for the claim, or bound to it. */
export function refersTo({ spec }: PersistentVolume, { metadata }: PersistentVolumeClaim): boolean {
  const { claimRef } = spec ?? {};
  return (
    claimRef?.name === metadata.name &&
    claimRef.namespace === metadata.namespace &&
    (claimRef.uid === undefined || claimRef.uid === metadata.uid)
  );
}

function capacityOf({ spec }: PersistentVolume): Quantity {
  return Quantity.parse(spec?.capacity?.["storage"] ?? "0");
}

/**
 * The smallest volume that the claim may have on the node; undefined if there is none.
 *
 * Upstream: k8s.io/component-helpers/storage/volume/pv_helpers.go, FindMatchingVolume.
 */
export function smallestFitting(
  volumes: readonly PersistentVolume[],
  claim: PersistentVolumeClaim,
  node: Node | undefined,
): PersistentVolume | undefined {
  const fitting = volumes.filter((volume) => fits(volume, claim, node));
  return fitting.sort((a, b) => capacityOf(a).compare(capacityOf(b)))[0];
}

function fits(volume: PersistentVolume, { spec }: PersistentVolumeClaim, node: Node | undefined): boolean {
  const { claimRef, accessModes = [], storageClassName = "", volumeMode = "Filesystem" } = volume.spec ?? {};
  const required = volume.spec?.nodeAffinity?.required;
  const affinity = required && { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: required } };
  const request = Quantity.parse(spec?.resources?.requests?.["storage"] ?? "0");
  return (
    claimRef === undefined &&
    volume.metadata.deletionTimestamp === undefined &&
    volume.status?.phase === "Available" &&
    storageClassName === (spec?.storageClassName ?? "") &&
    volumeMode === (spec?.volumeMode ?? "Filesystem") &&
    (spec?.accessModes ?? []).every((mode) => accessModes.includes(mode)) &&
    capacityOf(volume).compare(request) >= 0 &&
    (spec?.selector === undefined || labelSelectorOf(spec.selector).matches(volume.metadata.labels)) &&
    (affinity === undefined || node === undefined || matchesNode({ affinity }, node))
  );
}
