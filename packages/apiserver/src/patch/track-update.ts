import { fieldOf, fieldsIn, isObject, type JsonObject } from "../json/values.ts";
import { atOnce, type Step } from "../request/pieces.ts";
import { capManagers } from "./cap-managers.ts";
import type { Comparison } from "./compare.ts";
import { difference, type FieldSet, isEmptySet, union } from "./field-set.ts";
import { serverFields } from "./ignored-fields.ts";
import {
  decodeManaged,
  entryKey,
  isReset,
  type Managed,
  managedFieldsOf,
  withFields,
  withManagedFields,
  withTime,
} from "./managed-fields.ts";
import type { ObjectType } from "./object-type.ts";
import { ownable, updateOwnership } from "./ownership.ts";
import { UnkeyedElementError } from "./path-element.ts";
import { reconcile } from "./reconcile.ts";

export interface TrackUpdateOptions<T extends object = JsonObject> {
  /** The stored object, in the version of the request; undefined on create. */
  readonly live: T | undefined;
  /** The object to be stored: decoded, defaulted, in the version of the request. */
  readonly updated: T;
  /** The field manager: the request's `fieldManager`, otherwise the User-Agent up to the first slash. */
  readonly manager: string;
  readonly type: ObjectType;
  /** "" for the object itself. */
  readonly subresource: string;
  /** RFC 3339, whole seconds. */
  readonly now: string;
  /** Where list elements cannot be identified, the entries of the live object stay, as since 1.37. */
  readonly keepsEntries?: boolean;
  /** Runs the parts of the work that grow with the objects. */
  readonly step?: Step;
}

/**
 * Updates metadata.managedFields after a create, update or patch other than an apply: the manager owns the
 * changed fields, others lose them. Returns `updated`, or a copy with new managedFields that shares the rest.
 * Never throws for the contents of the objects: if list elements cannot be identified, all entries are
 * dropped, unless `keepsEntries`.
 *
 * A client may write managedFields itself, but not through a subresource; `[]` and `[{}]` stop the tracking
 * until the next apply, absent managedFields keep the live ones.
 */
export function trackUpdate<T extends object>(options: TrackUpdateOptions<T>): T {
  const live = options.live as JsonObject | undefined;
  const updated: JsonObject = fieldsIn(options.updated);
  const managed = startingPoint(live, updated, options.subresource);
  // An untracked object stays so until somebody applies.
  const untracked = managed.size === 0 && live !== undefined && hasUid(live);
  const result = untracked
    ? managed
    : tracked({ ...options, live: live ?? options.type.zero, updated }, managed);
  const { step = atOnce } = options;
  return step(() => withManagedFields(updated, result)) as T;
}

function hasUid(object: JsonObject): boolean {
  const metadata = fieldOf(object, "metadata");
  return isObject(metadata) && Boolean(fieldOf(metadata, "uid"));
}

/** Returns the entries before the write. */
function startingPoint(live: JsonObject | undefined, updated: JsonObject, subresource: string): Managed {
  const liveEntries = live === undefined ? undefined : managedFieldsOf(live);
  const entries = managedFieldsOf(updated);
  if (subresource === "" && entries !== liveEntries) {
    if (isReset(entries)) return new Map();
    const managed = decodedOrEmpty(entries);
    if (managed.size > 0) return managed;
  }
  return decodedOrEmpty(liveEntries);
}

function decodedOrEmpty(entries: unknown): Managed {
  try {
    return decodeManaged(entries);
  } catch {
    // Malformed entries count as absent, so that a client cannot block writes with them (upstream's rule).
    return new Map();
  }
}

/** Returns the entries after an update. */
export function tracked(
  options: TrackUpdateOptions & { readonly live: JsonObject },
  managed: Managed,
): Managed {
  const { type, subresource, live, updated, now, step = atOnce } = options;
  const manager = options.manager === "" ? "unknown" : options.manager;
  const entry = { manager, operation: "Update", apiVersion: type.apiVersion, subresource } as const;
  const write = { type, subresource, before: live, after: updated, step };
  let ownership: ReturnType<typeof updateOwnership>;
  let comparison: Comparison;
  try {
    ownership = updateOwnership(
      write,
      step(() => reconcile(managed, type)),
      undefined,
    );
    comparison = ownership.comparison();
  } catch (error) {
    if (!(error instanceof UnkeyedElementError)) throw error;
    // Upstream: apimachinery, pkg/util/managedfields/internal/fieldmanager.go, FieldManager.UpdateNoErrors
    return options.keepsEntries ? decodedOrEmpty(managedFieldsOf(live)) : new Map();
  }
  const changed = step(() => union(comparison.modified, comparison.added));
  const own = step(() => strip(ownable(type, subresource, changed)));
  if (!isEmptySet(own)) {
    const key = entryKey(entry);
    const previous = ownership.managed.get(key);
    const fields = previous === undefined ? own : step(() => union(previous.fields, own));
    // The order of the map does not matter: entries are sorted when encoded.
    ownership.managed.set(
      key,
      previous === undefined ? { ...entry, time: now, fields } : withTime(withFields(previous, fields), now),
    );
  }
  return capManagers(ownership.managed);
}

/** Removes fields that only the server sets. */
export function strip(fields: FieldSet): FieldSet {
  return difference(fields, serverFields);
}
