import { StatusError } from "@dray/api";
import { fieldOf, isObject, type JsonObject, jsonEqual } from "../json/values.ts";
import { atOnce, type Step } from "../request/pieces.ts";
import { typedProblem } from "./check-typed.ts";
import { type Conflict, conflictError } from "./conflicts.ts";
import { plainError } from "./errors.ts";
import { type FieldSet, isEmptySet } from "./field-set.ts";
import { fieldsOf } from "./fields-of.ts";
import { syncLastApplied, withoutLastApplied } from "./last-applied.ts";
import {
  decodeManaged,
  entryKey,
  type Managed,
  type ManagedEntry,
  managedFieldsOf,
  withManagedFields,
} from "./managed-fields.ts";
import type { ObjectType } from "./object-type.ts";
import { mergeApplied, ownable, updateOwnership } from "./ownership.ts";
import { reconcile } from "./reconcile.ts";
import { strip, tracked } from "./track-update.ts";

export interface ApplyOptions {
  /** The stored object in the version of the request; undefined on create. */
  readonly live: JsonObject | undefined;
  /** The decoded body of the request, as sent: without defaults and conversion. */
  readonly applied: JsonObject;
  /** The request's `fieldManager`. */
  readonly manager: string;
  /** Takes ownership of conflicting fields. */
  readonly force: boolean;
  readonly type: ObjectType;
  /** "" for the object itself. */
  readonly subresource: string;
  /** RFC 3339, whole seconds. */
  readonly now: string;
  /** Runs the parts of the work that grow with the objects. */
  readonly step?: Step;
}

/** Manager of the fields that existed before the first apply to an object without managedFields. */
const beforeFirstApply = "before-first-apply";

/**
 * Server-side apply. Returns the new object with its managedFields: the applied fields over the live ones,
 * without fields that the manager applied before and now omits, unless other managers own them.
 *
 * The result is unvalidated like a request body: it must still be decoded (nulls mean unset), defaulted and
 * validated. An apply that changes nothing returns the fields of the live object unchanged, and keeps the
 * times of entries.
 *
 * Errors: 409 with a cause for each field that another manager owns with another value; 400 for a body of
 * another kind or version, or with managedFields; 500 for one that does not match the schema, and for a live
 * object that does not, such as one with list elements that lack their keys.
 *
 * Upstream: apimachinery, pkg/util/managedfields/internal
 */
export function apply(options: ApplyOptions): JsonObject {
  const { type, applied, manager, step = atOnce } = options;
  checkKind(type, applied);
  const live = options.live ?? type.zero;
  let managed: Managed;
  try {
    managed = decodeManaged(managedFieldsOf(live));
  } catch (error) {
    throw plainError(`failed to decode managed fields: ${(error as Error).message}`);
  }
  const problem = options.live && step(() => typedProblem(type.schema, live, { allowDuplicates: true }));
  if (managed.size === 0) {
    if (problem !== undefined) {
      const first = `failed to convert new object (${described(type, live)}) to smd typed: ${problem}`;
      throw plainError(`failed to create manager for existing fields: ${first}`);
    }
    managed = tracked({ ...options, live: type.zero, updated: live, manager: beforeFirstApply }, managed);
  }
  step(() => checkBody(type, applied));
  if (problem !== undefined)
    throw plainError(`failed to create typed live object (${described(type, live)}): ${problem}`);
  const outcome = merge(options, live, reconcile(managed, type));
  const lastApplied = manager === "kubectl";
  let conflicts = options.force ? undefined : outcome.conflicts;
  if (conflicts !== undefined && lastApplied) conflicts = withoutLastApplied(conflicts, live, type);
  if (conflicts !== undefined && conflicts.size > 0) throw conflictError(conflicts);
  const result = step(() => withManagedFields(outcome.object, outcome.managed));
  return lastApplied ? syncLastApplied(result, applied) : result;
}

function checkKind(type: ObjectType, applied: JsonObject): void {
  const apiVersion = textOf(applied, "apiVersion");
  const kind = textOf(applied, "kind");
  if (apiVersion !== type.apiVersion || kind !== type.kind) {
    // An invalid group version counts as empty.
    const sent = apiVersion.split("/").length > 2 ? qualified("", "") : qualified(apiVersion, kind);
    throw StatusError.of("BadRequest", `invalid object type: ${sent}`);
  }
}

function checkBody(type: ObjectType, applied: JsonObject): void {
  if ((managedFieldsOf(applied) ?? null) !== null) {
    throw StatusError.of("BadRequest", "metadata.managedFields must be nil");
  }
  const problem = typedProblem(type.schema, applied);
  if (problem === undefined) return;
  throw plainError(`failed to create typed patch object (${described(type, applied)}): ${problem}`);
}

/** `namespace/name; apps/v1, Kind=Deployment` */
function described({ apiVersion, kind }: ObjectType, object: JsonObject): string {
  const metadata = fieldOf(object, "metadata");
  const name = isObject(metadata) ? `${textOf(metadata, "namespace")}/${textOf(metadata, "name")}` : "/";
  return `${name}; ${qualified(apiVersion, kind)}`;
}

function textOf(object: JsonObject, key: string): string {
  const value = fieldOf(object, key);
  return typeof value === "string" ? value : "";
}

/** `/v1, Kind=ConfigMap`, `apps/v1, Kind=Deployment` */
function qualified(apiVersion: string, kind: string): string {
  return `${apiVersion.includes("/") ? apiVersion : `/${apiVersion}`}, Kind=${kind}`;
}

interface Outcome {
  readonly object: JsonObject;
  readonly managed: Managed;
  readonly conflicts: ReadonlyMap<string, Conflict>;
}

function merge(options: ApplyOptions, live: JsonObject, managed: Managed): Outcome {
  const { type, subresource, applied, manager, step = atOnce } = options;
  const identity = {
    manager: manager === "" ? "unknown" : manager,
    operation: "Apply",
    subresource,
  } as const;
  const key = entryKey({ ...identity, apiVersion: type.apiVersion });
  const last = managed.get(key);
  const all = step(() => fieldsOf(type.schema, applied));
  const set = step(() => ownable(type, subresource, all));
  const withOwn: Managed = new Map(managed);
  const own: ManagedEntry = { ...identity, apiVersion: type.apiVersion, time: last?.time, fields: set };
  withOwn.set(key, own);
  const merged = step(() => mergeApplied({ type, live, applied }, withOwn, last));
  const write = { type, subresource, before: live, after: merged, step };
  const ownership = updateOwnership(write, withOwn, key);
  const changed = step(() => !jsonEqual(live, merged));
  const result = ownership.managed;
  const fields = step(() => strip(set));
  if (isEmptySet(fields)) result.delete(key);
  else result.set(key, entryFor(own, last, fields, changed ? options.now : last?.time));
  return { object: changed ? merged : live, managed: result, conflicts: ownership.conflicts };
}

/** Returns the entry of an applier: the last one if it is unchanged. */
function entryFor(
  own: ManagedEntry,
  last: ManagedEntry | undefined,
  fields: FieldSet,
  time: string | undefined,
): ManagedEntry {
  if (
    last !== undefined &&
    last.apiVersion === own.apiVersion &&
    last.time === time &&
    jsonEqual(last.fields, fields)
  ) {
    return last;
  }
  return { ...own, fields, time };
}
