import { labelSelectorOf, matchesNode, Quantity } from "@dray/api";
import type { Node, PersistentVolume, PersistentVolumeClaim, Pod } from "@dray/api/core/v1";

const betaClass = "volume.beta.kubernetes.io/storage-class";

/** The claims that a pod uses: those that it names and those of its ephemeral volumes. */
export function claimNames({ metadata, spec }: Pod): string[] {
  return (spec.volumes ?? []).flatMap(({ name, persistentVolumeClaim, ephemeral }) =>
    ephemeral !== undefined ? [`${metadata.name}-${name}`] : (persistentVolumeClaim?.claimName ?? []),
  );
}

/** Reports whether the volume is reserved for the claim, or bound to it. */
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
 * The smallest volume that the claim may have on the node; undefined if no volume fits.
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

/** The name of the storage class; the annotation is of the time before the field. */
export function classOfClaim({ metadata, spec }: PersistentVolumeClaim): string | undefined {
  return metadata.annotations?.[betaClass] ?? spec?.storageClassName;
}

function classOfVolume({ metadata, spec }: PersistentVolume): string {
  return metadata.annotations?.[betaClass] ?? spec?.storageClassName ?? "";
}

/** Reports whether a volume that is reserved for the claim may be bound to it. */
export function holds(volume: PersistentVolume, { spec }: PersistentVolumeClaim): boolean {
  return (
    volume.metadata.deletionTimestamp === undefined &&
    capacityOf(volume).compare(requestOf(spec)) >= 0 &&
    modeOf(volume.spec) === modeOf(spec) &&
    attributesClassOf(volume.spec) === attributesClassOf(spec)
  );
}

/**
 * Returns why the claim may not have the volume that it names; undefined if it may.
 *
 * Upstream: pkg/controller/volume/persistentvolume/pv_controller.go, checkVolumeSatisfyClaim.
 */
export function mismatch(volume: PersistentVolume, claim: PersistentVolumeClaim): string | undefined {
  const { metadata } = volume;
  if (metadata.deletionTimestamp !== undefined)
    return `the volume is marked for deletion ${JSON.stringify(metadata.name)}`;
  if (capacityOf(volume).compare(requestOf(claim.spec)) < 0) return "requested PV is too small";
  if (classOfVolume(volume) !== (classOfClaim(claim) ?? "")) return "storageClassName does not match";
  if (attributesClassOf(volume.spec) !== attributesClassOf(claim.spec))
    return "volumeAttributesClassName does not match";
  if (modeOf(volume.spec) !== modeOf(claim.spec)) return "incompatible volumeMode";
  return allowsModes(volume, claim) ? undefined : "incompatible accessMode";
}

function fits(volume: PersistentVolume, claim: PersistentVolumeClaim, node: Node | undefined): boolean {
  const { selector } = claim.spec ?? {};
  const required = volume.spec?.nodeAffinity?.required;
  const affinity = required && { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: required } };
  return (
    volume.spec?.claimRef === undefined &&
    volume.status?.phase === "Available" &&
    mismatch(volume, claim) === undefined &&
    (selector === undefined || labelSelectorOf(selector).matches(volume.metadata.labels)) &&
    (affinity === undefined || node === undefined || matchesNode({ affinity }, node))
  );
}

function requestOf(spec: PersistentVolumeClaim["spec"]): Quantity {
  return Quantity.parse(spec?.resources?.requests?.["storage"] ?? "0");
}

function modeOf(spec: { volumeMode?: string } | undefined): string {
  return spec?.volumeMode ?? "Filesystem";
}

function attributesClassOf(spec: { volumeAttributesClassName?: string } | undefined): string {
  return spec?.volumeAttributesClassName ?? "";
}

function allowsModes({ spec }: PersistentVolume, claim: PersistentVolumeClaim): boolean {
  const allowed = spec?.accessModes ?? [];
  return (claim.spec?.accessModes ?? []).every((mode) => allowed.includes(mode));
}
