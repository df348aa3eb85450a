import { fieldOf, isObject, type JsonObject } from "../json/values.ts";
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
import { ownable, takeOver } from "./ownership.ts";
import { UnkeyedElementError } from "./path-element.ts";
import { reconcile } from "./reconcile.ts";

export interface TrackUpdateOptions<T extends object = JsonObject> {
  /** The stored object, in the version of the request; undefined where it is being created. */
  readonly live: T | undefined;
  /** What will be stored: decoded, defaulted, in the version of the request. */
  readonly updated: T;
  /** The field manager: the request's `fieldManager`, else the first word of the User-Agent before a slash. */
  readonly manager: string;
  readonly type: ObjectType;
  /** "" for the object itself. */
  readonly subresource: string;
  /** RFC 3339, whole seconds. */
  readonly now: string;
}

/**
 * Brings metadata.managedFields up to date after a create, update or patch that is no apply: the manager owns what
 * changed, others lose it. Returns `updated`, or a copy with new managedFields; shares all else. Never throws for
 * what the objects hold: where the elements of their lists cannot be told apart, no entries are left.
 *
 * A client may write managedFields itself, but not through a subresource; `[]` and `[{}]` stop the tracking until
 * the next apply, none at all keeps the live ones.
 */
export function trackUpdate<T extends object>(options: TrackUpdateOptions<T>): T {
  const live = options.live as JsonObject | undefined;
  const updated = options.updated as unknown as JsonObject;
  const managed = startingPoint(live, updated, options.subresource);
  // An object that nobody tracks stays so until somebody applies.
  const untracked = managed.size === 0 && live !== undefined && hasUid(live);
  const result = untracked
    ? managed
    : tracked({ ...options, live: live ?? options.type.zero, updated }, managed);
  return withManagedFields(updated, result) as T;
}

function hasUid(object: JsonObject): boolean {
  const metadata = fieldOf(object, "metadata");
  return isObject(metadata) && Boolean(fieldOf(metadata, "uid"));
}

/** The entries that hold before the write. */
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
    // Malformed entries count as none, so that a client that garbles them cannot block writes (upstream's rule).
    return new Map();
  }
}

/** The entries after an update. */
export function tracked(
  options: TrackUpdateOptions & { readonly live: JsonObject },
  managed: Managed,
): Managed {
  const { type, subresource, live, updated, now } = options;
  const manager = options.manager === "" ? "unknown" : options.manager;
  const entry = { manager, operation: "Update", apiVersion: type.apiVersion, subresource } as const;
  const write = { type, subresource, before: live, after: updated };
  let taken: ReturnType<typeof takeOver>;
  let comparison: Comparison;
  try {
    taken = takeOver(write, reconcile(managed, type), undefined);
    comparison = taken.comparison();
  } catch (error) {
    // Upstream then drops all entries rather than keep wrong ones (UpdateNoErrors).
    if (error instanceof UnkeyedElementError) return new Map();
    throw error;
  }
  const own = strip(ownable(type, subresource, union(comparison.modified, comparison.added)));
  if (!isEmptySet(own)) {
    const key = entryKey(entry);
    const previous = taken.managed.get(key);
    // Map order follows nothing: entries are sorted when they are written.
    taken.managed.set(
      key,
      previous === undefined
        ? { ...entry, time: now, fields: own }
        : withTime(withFields(previous, union(previous.fields, own)), now),
    );
  }
  return capManagers(taken.managed);
}

/** Without the fields that are the server's own. */
export function strip(fields: FieldSet): FieldSet {
  return difference(fields, serverFields);
}
