import { canonicalJSON, decodeJSON } from "@dray/api";
import { fieldOf, isObject, type JsonObject, withField, withoutField } from "../json/values.ts";
import { typedProblem } from "./check-typed.ts";
import { compare } from "./compare.ts";
import type { Conflict } from "./conflicts.ts";
import { difference, type FieldSet, isEmptySet } from "./field-set.ts";
import { fieldsOf } from "./fields-of.ts";
import type { ObjectType } from "./object-type.ts";

/** The annotation in which client-side `kubectl apply` stores the last applied body. */
const annotation = "kubectl.kubernetes.io/last-applied-configuration";
/** Maximum total size of the annotations of an object, in bytes. */
const maxAnnotationBytes = 256 * 1024;

/**
 * Returns the conflicts that remain when `kubectl apply --server-side` migrates from client-side apply:
 * fields in the last applied configuration with an unchanged value belong to kubectl. Empty: the apply may
 * proceed.
 */
export function withoutLastApplied(
  conflicts: ReadonlyMap<string, Conflict>,
  live: JsonObject,
  type: ObjectType,
): ReadonlyMap<string, Conflict> {
  const allowed = fieldsOfLastApplied(live, type);
  if (allowed === undefined) return conflicts;
  const result = new Map<string, Conflict>();
  for (const [key, { entry, fields }] of conflicts) {
    const remaining = difference(fields, allowed);
    if (!isEmptySet(remaining)) result.set(key, { entry, fields: remaining });
  }
  return result;
}

function fieldsOfLastApplied(live: JsonObject, type: ObjectType): FieldSet | undefined {
  const text = annotationsOf(live)?.[annotation];
  if (typeof text !== "string" || text === "") return undefined;
  let last: unknown;
  try {
    last = decodeJSON(text);
  } catch {
    // The annotation was written by another client: no field belongs to kubectl.
    return undefined;
  }
  if (!isObject(last) || fieldOf(last, "apiVersion") !== type.apiVersion) return undefined;
  if (typedProblem(type.schema, last) !== undefined) return undefined;
  const { modified, added, removed } = compare(type.schema, last, live);
  return [modified, added, removed].reduce(difference, fieldsOf(type.schema, last));
}

/** Updates the annotation, if the object has it, when kubectl applies on the server. */
export function syncLastApplied(object: JsonObject, applied: JsonObject): JsonObject {
  const annotations = annotationsOf(object);
  const metadata = fieldOf(object, "metadata");
  if (!isObject(metadata) || annotations === undefined || !Object.hasOwn(annotations, annotation))
    return object;
  let changed = withField(annotations, annotation, lastAppliedText(applied));
  if (totalSize(changed) > maxAnnotationBytes) changed = withoutField(changed, annotation);
  return withField(object, "metadata", withField(metadata, "annotations", changed));
}

/** Returns the applied object without the annotation itself, with sorted keys and a final line break. */
function lastAppliedText(applied: JsonObject): string {
  const metadata = fieldOf(applied, "metadata");
  const annotations = annotationsOf(applied);
  let object = applied;
  if (isObject(metadata) && annotations !== undefined && Object.hasOwn(annotations, annotation)) {
    object = withField(
      applied,
      "metadata",
      withField(metadata, "annotations", withoutField(annotations, annotation)),
    );
  }
  return `${canonicalJSON(object)}\n`;
}

function annotationsOf(object: JsonObject): JsonObject | undefined {
  const metadata = fieldOf(object, "metadata");
  const annotations = isObject(metadata) ? fieldOf(metadata, "annotations") : undefined;
  return isObject(annotations) ? annotations : undefined;
}

function totalSize(annotations: JsonObject): number {
  const encoder = new TextEncoder();
  let size = 0;
  for (const [key, value] of Object.entries(annotations)) {
    size += encoder.encode(key).length + encoder.encode(String(value)).length;
  }
  return size;
}
