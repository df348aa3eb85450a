import type { ManagedFieldsEntry } from "@dray/api/meta/v1";
import { difference, hasPath, isEmptySet, setOf } from "./field-set.ts";
import { decodeManaged, encodeManaged, type Managed, withFields } from "./managed-fields.ts";

const scaleVersion = "autoscaling/v1";
/** Path of the replicas in a scale, and in most scaled objects. */
const replicas = ["f:spec", "f:replicas"];
const replicasSet = setOf(replicas);

/**
 * Returns the managedFields of a scale: the entries of the scaled object that own `.spec.replicas`, converted
 * to the scale. `apiVersions`: the versions in which the replicas of the scaled kind are at `path`.
 */
export function scaleManagedFields(
  managedFields: unknown,
  apiVersions: ReadonlySet<string>,
  path: readonly string[] = replicas,
): readonly ManagedFieldsEntry[] | undefined {
  const scale: Managed = new Map();
  for (const [key, entry] of decodeManaged(managedFields)) {
    if (!apiVersions.has(entry.apiVersion) || !hasPath(entry.fields, path)) continue;
    const { source: _, ...rest } = entry;
    scale.set(key, { ...rest, apiVersion: scaleVersion, fields: replicasSet });
  }
  return encodeManaged(scale);
}

interface ScaledVersions {
  /** The version of new entries. */
  readonly apiVersion: string;
  /** The versions in which the replicas of the scaled kind are at `path`. */
  readonly apiVersions: ReadonlySet<string>;
  readonly path?: readonly string[];
}

/**
 * Returns the managedFields of the scaled object after a write through its scale: the owner of the replicas
 * there owns them here.
 */
export function scaledManagedFields(
  managedFields: unknown,
  scaleFields: unknown,
  { apiVersion, apiVersions, path = replicas }: ScaledVersions,
): readonly ManagedFieldsEntry[] | undefined {
  const own = setOf(path);
  const result: Managed = new Map();
  const scale = decodeManaged(scaleFields);
  const parent = decodeManaged(managedFields);
  for (const [key, entry] of parent) {
    if (!apiVersions.has(entry.apiVersion)) continue;
    if (!hasPath(entry.fields, path)) {
      result.set(key, entry);
    } else if (scale.has(key)) {
      result.set(key, entry);
      scale.delete(key);
    } else {
      const remaining = difference(entry.fields, own);
      if (!isEmptySet(remaining)) result.set(key, withFields(entry, remaining));
    }
  }
  for (const [key, entry] of scale) {
    if (!hasPath(entry.fields, replicas)) continue;
    const { source: _, ...rest } = entry;
    // The time is that of the replaced entry; a new entry has none (as upstream).
    result.set(key, { ...rest, apiVersion, time: parent.get(key)?.time, fields: own });
  }
  return encodeManaged(result);
}
