import { emptySet, type FieldSet, setOf } from "./field-set.ts";
import type { ObjectType } from "./object-type.ts";

/** Fields that only the server sets: never part of an entry. */
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

/**
 * Kinds for which a write of `status` resets more than the spec. Upstream: GetResetFields of each status
 * strategy
 */
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
 * Returns the fields that a write to a resource or subresource cannot change and so cannot own: the status of
 * objects with a status subresource, everything but the status on /status.
 */
export function ignoredFields(type: ObjectType, subresource: string): FieldSet {
  if (type.unowned !== undefined) return type.unowned[subresource] ?? emptySet;
  if (subresource === "status") return byStatus.get(type.kind) ?? spec;
  const fields = type.schema.map?.fields;
  return subresource === "" && fields?.has("status") && fields.has("metadata") ? status : emptySet;
}
