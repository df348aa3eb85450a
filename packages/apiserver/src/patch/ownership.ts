import type { JsonObject } from "../json/values.ts";
import type { Step } from "../request/pieces.ts";
import { type Comparison, compare, excluding, isSame } from "./compare.ts";
import type { Conflict } from "./conflicts.ts";
import {
  difference,
  type FieldSet,
  intersection,
  isEmptySet,
  isSubset,
  recursiveDifference,
  union,
  withNamedFields,
} from "./field-set.ts";
import { fieldsOf } from "./fields-of.ts";
import { ignoredFields } from "./ignored-fields.ts";
import { type Managed, type ManagedEntry, withFields } from "./managed-fields.ts";
import type { ObjectType } from "./object-type.ts";
import { removeFields } from "./remove-fields.ts";
import { typedMerge } from "./typed-merge.ts";

/** A write: the object before and after, in the version of the request. */
export interface Write {
  readonly type: ObjectType;
  readonly subresource: string;
  readonly before: JsonObject;
  readonly after: JsonObject;
  /** Runs the parts of the work that grow with the objects. */
  readonly step: Step;
}

/** An object in one version. */
interface Versioned {
  readonly type: ObjectType;
  readonly object: JsonObject;
}

/** Returns the object in another version; undefined if that version is not served. */
function inVersion({ type, object }: Versioned, apiVersion: string): Versioned | undefined {
  if (apiVersion === type.apiVersion) return { type, object };
  const other = type.inVersion?.(apiVersion);
  return other === undefined ? undefined : { type: other.type, object: other.to(object) };
}

/**
 * Removes changed and removed fields from all managers but one. Returns the new entries, the changed fields
 * (in the version of the request; computed on demand, because an apply without conflicts does not need them),
 * and the entries that lost changed fields. Entries of versions that are not served any more are dropped.
 */
export function updateOwnership(
  write: Write,
  managed: Managed,
  except: string | undefined,
): { managed: Managed; comparison: () => Comparison; conflicts: ReadonlyMap<string, Conflict> } {
  const comparisons = new Map<string, Comparison | undefined>();
  const comparisonIn = (apiVersion: string): Comparison | undefined => {
    if (comparisons.has(apiVersion)) return comparisons.get(apiVersion);
    const before = inVersion({ type: write.type, object: write.before }, apiVersion);
    const after = inVersion({ type: write.type, object: write.after }, apiVersion);
    const comparison =
      before === undefined || after === undefined ? undefined : comparisonOf(before, after, write);
    comparisons.set(apiVersion, comparison);
    return comparison;
  };

  const conflicts = new Map<string, Conflict>();
  const result: Managed = new Map();
  for (const [key, entry] of managed) {
    let remaining = entry;
    if (key !== except) {
      const comparison = comparisonIn(entry.apiVersion);
      if (comparison === undefined) continue;
      if (!isSame(comparison)) {
        const written = write.step(() => union(comparison.modified, comparison.added));
        const changed = write.step(() => intersection(entry.fields, written));
        if (!isEmptySet(changed)) conflicts.set(key, { entry, fields: changed });
        const unchanged = write.step(() => difference(entry.fields, changed));
        const kept = write.step(() => difference(unchanged, comparison.removed));
        remaining = withFields(entry, kept);
      }
    }
    if (!isEmptySet(remaining.fields)) result.set(key, remaining);
  }
  const comparison = (): Comparison => comparisonIn(write.type.apiVersion) as Comparison;
  return { managed: result, comparison, conflicts };
}

function comparisonOf(before: Versioned, after: Versioned, { step, subresource }: Write): Comparison {
  const all = step(() => compare(before.type.schema, before.object, after.object));
  return step(() => excluding(all, ignoredFields(before.type, subresource)));
}

/** Returns those of the fields that a write to this subresource may own. */
export function ownable(type: ObjectType, subresource: string, fields: FieldSet): FieldSet {
  return recursiveDifference(fields, ignoredFields(type, subresource));
}

/**
 * Merges an applied object into the live one, and removes fields that the same manager applied before, does
 * not apply any more, and no other manager owns. `managed` contains the new entry of the manager already.
 */
export function mergeApplied(
  {
    type,
    live,
    applied,
  }: { readonly type: ObjectType; readonly live: JsonObject; readonly applied: JsonObject },
  managed: Managed,
  last: ManagedEntry | undefined,
): JsonObject {
  const merged = typedMerge(type.schema, live, applied) as JsonObject;
  if (last === undefined || isEmptySet(last.fields)) return merged;
  const inLast = inVersion({ type, object: merged }, last.apiVersion);
  if (inLast === undefined) return merged;
  const pruned = prune(inLast, managed, last);
  if (pruned === inLast.object) return merged;
  if (last.apiVersion === type.apiVersion) return pruned;
  return type.inVersion?.(last.apiVersion)?.from(pruned) ?? merged;
}

/** Returns the fields that an object sets, with the named ones on the path; computed once per object. */
type FieldsOf = (type: ObjectType, object: JsonObject) => FieldSet;

function namedFields(): FieldsOf {
  const known = new Map<JsonObject, FieldSet>();
  return ({ schema }, object) => {
    const fields = known.get(object) ?? withNamedFields(fieldsOf(schema, object), schema);
    known.set(object, fields);
    return fields;
  };
}

function prune(merged: Versioned, managed: Managed, last: ManagedEntry): JsonObject {
  const { type, object } = merged;
  const { schema } = type;
  // All removed fields would be restored: this is the usual case, where the manager omits nothing.
  for (const { apiVersion, fields } of managed.values())
    if (apiVersion === type.apiVersion && isSubset(last.fields, fields)) return object;
  const fieldsIn = namedFields();
  const lastFields = withNamedFields(last.fields, schema);
  const without = removeFields(schema, object, lastFields) as JsonObject | null;
  if (without === object) return object;
  const pruned = restoreOwned(merged, without ?? {}, managed, fieldsIn);
  // Fields that were removed with their parent but were never this manager's are restored.
  const removed = difference(fieldsIn(type, object), fieldsIn(type, pruned));
  return (removeFields(schema, object, intersection(removed, lastFields)) as JsonObject | null) ?? {};
}

/** Restores the fields that any manager owns, version by version; the version of `merged` first. */
function restoreOwned(
  merged: Versioned,
  pruned: JsonObject,
  managed: Managed,
  fieldsIn: FieldsOf,
): JsonObject {
  const own = merged.type.apiVersion;
  const owned = new Map<string, FieldSet>([[own, {}]]);
  for (const { apiVersion, fields } of managed.values()) {
    owned.set(apiVersion, union(owned.get(apiVersion) ?? {}, fields));
  }
  let result = pruned;
  for (const [apiVersion, fields] of owned) {
    const whole = inVersion(merged, apiVersion);
    const part = inVersion({ type: merged.type, object: result }, apiVersion);
    if (whole === undefined || part === undefined) continue;
    const { schema } = whole.type;
    const keep = union(fieldsIn(whole.type, part.object), withNamedFields(fields, schema));
    const dropped = difference(fieldsIn(whole.type, whole.object), keep);
    const restored = (removeFields(schema, whole.object, dropped) as JsonObject | null) ?? {};
    result = apiVersion === own ? restored : (merged.type.inVersion?.(apiVersion)?.from(restored) ?? result);
  }
  return result;
}
