/**
 * Which volumes do for a claim, and on which nodes.
 * Upstream: k8s.io/component-helpers/storage/volume/pv_helpers.go
 */
import { labelSelectorOf, type NodeTest, Quantity, readNodeSelector } from "@dray/api";
import type { Node, PersistentVolume, PersistentVolumeClaim } from "@dray/api/core/v1";
import type { CSIStorageCapacity, StorageClass } from "@dray/api/storage/v1";
import { classOf, classOfVolume } from "../helper/volume-lookup.ts";

const bindCompleted = "pv.kubernetes.io/bind-completed";
const boundByController = "pv.kubernetes.io/bound-by-controller";
const selectedNodeKey = "volume.kubernetes.io/selected-node";

/** The node for which the scheduler has asked for a volume. */
export function selectedNode({ metadata }: PersistentVolumeClaim): string | undefined {
  return metadata.annotations?.[selectedNodeKey];
}

export function withSelectedNode(claim: PersistentVolumeClaim, node: string): PersistentVolumeClaim {
  const annotations = { ...claim.metadata.annotations, [selectedNodeKey]: node };
  return { ...claim, metadata: { ...claim.metadata, annotations } };
}

/** Claim and volume have found each other, and the controller has said so. */
export function isFullyBound({ metadata, spec }: PersistentVolumeClaim): boolean {
  return Boolean(spec?.volumeName) && metadata.annotations?.[bindCompleted] !== undefined;
}

const everywhere: NodeTest = () => true;
const reaches = new WeakMap<PersistentVolume, NodeTest>();

/** Reports whether the node can use the volume, by its node affinity. */
export function reachesNode(volume: PersistentVolume, node: Node): boolean {
  let test = reaches.get(volume);
  if (test === undefined) {
    const required = volume.spec?.nodeAffinity?.required;
    test = required === undefined ? everywhere : readNodeSelector(required);
    reaches.set(volume, test);
  }
  return test(node);
}

export function storageOf(list: Readonly<Record<string, string>> | undefined): Quantity {
  return Quantity.parse(list?.["storage"] ?? "0");
}

/** Reports whether the volume is reserved for the claim, by name or for good. */
function isBoundTo({ spec }: PersistentVolume, { metadata }: PersistentVolumeClaim): boolean {
  const { name, namespace, uid } = spec?.claimRef ?? {};
  return name === metadata.name && namespace === metadata.namespace && (!uid || uid === metadata.uid);
}

/** The volume, reserved for the claim. */
export function boundTo(volume: PersistentVolume, claim: PersistentVolumeClaim): PersistentVolume {
  const { namespace, name, uid, resourceVersion } = claim.metadata;
  const { claimRef } = volume.spec ?? {};
  if (claimRef?.uid === uid) return volume;
  const byUser = isBoundTo(volume, claim);
  const annotations = byUser
    ? volume.metadata.annotations
    : { ...volume.metadata.annotations, [boundByController]: "yes" };
  return {
    ...volume,
    metadata: { ...volume.metadata, ...(annotations && { annotations }) },
    spec: {
      ...volume.spec,
      claimRef: { kind: "PersistentVolumeClaim", apiVersion: "v1", namespace, name, uid, resourceVersion },
    },
  } as PersistentVolume;
}

/** The volume that is reserved for the claim, or the smallest that does; undefined: none on this node. */
export function matchingVolume(
  claim: PersistentVolumeClaim,
  volumes: readonly PersistentVolume[],
  node: Node,
  taken: ReadonlySet<string>,
): PersistentVolume | undefined {
  const request = storageOf(claim.spec?.resources?.requests);
  const selector = claim.spec?.selector && labelSelectorOf(claim.spec.selector);
  let smallest: PersistentVolume | undefined;
  for (const volume of volumes) {
    const { spec, metadata, status } = volume;
    const reserved = isBoundTo(volume, claim);
    if (taken.has(metadata.name) || (spec?.claimRef !== undefined && !reserved)) continue;
    const size = storageOf(spec?.capacity);
    if (size.compare(request) < 0 || !isOfKind(volume, claim)) continue;
    if (metadata.deletionTimestamp !== undefined) continue;
    if (reserved) return reachesNode(volume, node) ? volume : undefined;
    if (status?.phase !== "Available" || selector?.matches(metadata.labels) === false) continue;
    if (classOfVolume(volume) !== classOf(claim) || !reachesNode(volume, node)) continue;
    if (!(claim.spec?.accessModes ?? []).every((mode) => spec?.accessModes?.includes(mode))) continue;
    if (smallest === undefined || size.compare(storageOf(smallest.spec?.capacity)) < 0) smallest = volume;
  }
  return smallest;
}

/** Of the same mode, and of the same class of attributes. */
function isOfKind({ spec: volume }: PersistentVolume, { spec: claim }: PersistentVolumeClaim): boolean {
  return (
    (volume?.volumeMode ?? "Filesystem") === (claim?.volumeMode ?? "Filesystem") &&
    (volume?.volumeAttributesClassName ?? "") === (claim?.volumeAttributesClassName ?? "")
  );
}

/** Reports whether volumes of the class can be made for the node. Upstream: MatchTopologySelectorTerms */
export function servesNode({ allowedTopologies = [] }: StorageClass, { metadata }: Node): boolean {
  const { labels = {} } = metadata;
  if (allowedTopologies.length === 0) return true;
  return allowedTopologies.some(
    ({ matchLabelExpressions = [] }) =>
      matchLabelExpressions.length > 0 &&
      matchLabelExpressions.every(
        ({ key, values }) => Object.hasOwn(labels, key) && values.includes(labels[key]!),
      ),
  );
}

/** The size of the largest volume that can be made; undefined where it is not known. */
export function volumeLimit({ maximumVolumeSize, capacity }: CSIStorageCapacity): Quantity | undefined {
  const limit = maximumVolumeSize ?? capacity;
  return limit === undefined ? undefined : Quantity.parse(limit);
}
