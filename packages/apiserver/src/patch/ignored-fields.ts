import { emptySet, type FieldSet, setOf } from "./field-set.ts";
import type { ObjectType } from "./object-type.ts";

/** Fields that the server keeps for itself: never part of an entry. */
export const serverFields: FieldSet = setOf(
  ["f:apiVersion"],
  ["f:kind"],
  ["f:metadata"],
  ...[
    "name",
    "namespace",
    "creationTimestamp",
    "selfLink",
    "uid",
    "clusterName",
    "generation",
    "managedFields",
    "resourceVersion",
  ].map((name) => ["f:metadata", `f:${name}`]),
);

const status = setOf(["f:status"]);
const spec = setOf(["f:spec"]);
const allButStatus = setOf(["f:metadata"], ["f:spec"]);

/** Kinds whose `status` keeps more than the spec as it is. Upstream: GetResetFields of each status strategy */
const byStatus: ReadonlyMap<string, FieldSet> = new Map([
  ["Pod", setOf(["f:spec"], ["f:metadata", "f:deletionTimestamp"], ["f:metadata", "f:ownerReferences"])],
  ["Deployment", setOf(["f:spec"], ["f:metadata", "f:labels"])],
  ["CSINode", allButStatus],
  ["CompositePodGroup", allButStatus],
  ["DeviceTaintRule", allButStatus],
  ["FlowSchema", allButStatus],
  ["PodGroup", allButStatus],
  ["PriorityLevelConfiguration", allButStatus],
  ["ResourceClaim", allButStatus],
  ["ResourcePoolStatusRequest", allButStatus],
  ["ServiceCIDR", allButStatus],
  ["ValidatingAdmissionPolicy", allButStatus],
  ["VolumeAttachment", allButStatus],
]);

/**
 * Fields that a write to a resource or subresource cannot change and so cannot own: the status of objects that have
 * one, all but the status on /status.
 */
export function ignoredFields(type: ObjectType, subresource: string): FieldSet {
  if (type.unowned !== undefined) return type.unowned[subresource] ?? emptySet;
  if (subresource === "status") return byStatus.get(type.kind) ?? spec;
  const fields = type.schema.map?.fields;
  return subresource === "" && fields?.has("status") && fields.has("metadata") ? status : emptySet;
}
