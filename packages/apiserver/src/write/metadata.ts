import { type KubeObject, StatusError } from "@dray/api";
import type { ServedResource } from "../kinds/resources.ts";
import { deepEqual, thaw } from "../storage/json.ts";

/** Sets the namespace of the path. Throws 400 if the object has another one. */
export function ensureNamespace(served: ServedResource, namespace: string, object: KubeObject): void {
  const own = object.metadata.namespace ?? "";
  if (own === "") {
    if (served.namespaced) object.metadata.namespace = namespace;
    return;
  }
  if (!served.namespaced) {
    delete object.metadata.namespace;
    return;
  }
  if (own !== namespace) {
    throw StatusError.of(
      "BadRequest",
      "the namespace of the provided object does not match the namespace sent on the request",
    );
  }
}

/**
 * Restores the parts that an update cannot change: identity, and the half (main or status) that it does not
 * write.
 */
export function prepareMetadata(
  served: ServedResource,
  object: KubeObject,
  old: KubeObject,
  subresource: string,
): void {
  const { metadata } = object;
  metadata.uid ||= old.metadata.uid;
  if (old.metadata.creationTimestamp) metadata.creationTimestamp = old.metadata.creationTimestamp;
  copyField(metadata, old.metadata, "generation");
  if (old.metadata.deletionTimestamp !== undefined) {
    metadata.deletionTimestamp = old.metadata.deletionTimestamp;
  }
  // A changed grace period is rejected by validation.
  const grace = old.metadata.deletionGracePeriodSeconds;
  if (grace !== undefined) metadata.deletionGracePeriodSeconds ??= grace;
  if (!served.facts.status) return;
  // A binding writes the node and the condition PodScheduled together, an approval the conditions of the
  // status.
  if (subresource === "binding" || subresource === "approval") return;
  if (subresource !== "status") {
    copyField(object, old, "status");
    return;
  }
  for (const field of new Set([...Object.keys(object), ...Object.keys(old)])) {
    if (field !== "status" && field !== "metadata") copyField(object, old, field);
  }
  if (served.facts.status === "labels") copyField(metadata, old.metadata, "labels");
  if (served.facts.status === "reset") {
    for (const field of ["labels", "annotations", "finalizers", "ownerReferences"] as const) {
      copyField(metadata, old.metadata, field);
    }
  }
}

/** Sets the initial status of an object. */
export function resetStatus(object: KubeObject, zero: { readonly [field: string]: unknown }): void {
  const parent = object as KubeObject & { status?: unknown };
  if (zero["status"] === undefined) delete parent.status;
  else parent.status = thaw(zero["status"]);
}

/** Increments metadata.generation if more than metadata and status has changed. */
export function countGeneration(
  served: ServedResource,
  object: KubeObject,
  old: KubeObject,
  subresource: string,
): void {
  const plain = (source: KubeObject): object => {
    const { metadata: _metadata, status, ...rest } = source as KubeObject & { status?: unknown };
    // Without a status subresource, status is an ordinary field.
    return served.facts.status === undefined ? { ...rest, status } : rest;
  };
  const count = Number(old.metadata.generation ?? 0);
  const { generation } = served.facts;
  const field = generation === "annotated" ? "annotations" : generation === "labelled" ? "labels" : undefined;
  const described =
    field !== undefined &&
    subresource === "" &&
    !deepEqual(object.metadata[field] ?? {}, old.metadata[field] ?? {});
  const changed = described || !deepEqual(plain(object), plain(old));
  if (changed || old.metadata.generation !== undefined)
    object.metadata.generation = count + (changed ? 1 : 0);
}

/** Compares objects without resourceVersion and the times of managedFields. */
export function sameObject(left: KubeObject, right: KubeObject): boolean {
  const plain = (object: KubeObject): object => {
    const { resourceVersion: _version, managedFields, ...metadata } = object.metadata;
    const managers = (managedFields ?? []).map(({ time: _time, ...entry }) => entry);
    return { ...object, metadata: { ...metadata, managers } };
  };
  return deepEqual(plain(left), plain(right));
}

function copyField<T extends object>(target: T, source: T, field: string): void {
  const to = target as Record<string, unknown>;
  const from = source as Record<string, unknown>;
  if (from[field] === undefined) delete to[field];
  else to[field] = from[field];
}
