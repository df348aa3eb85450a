import { isDeepStrictEqual } from "node:util";
import type { Kind, KubeObject } from "@dray/api";
import type { Client, ObjectRef } from "@dray/client";

/**
 * Writes the status if it differs from what the object has; fails with a conflict if the object has changed
 * since. Returns the object as it is then.
 */
export async function writeStatus<T extends KubeObject & { status?: object }>(
  client: Client,
  kind: Kind<T>,
  object: T,
  status: NonNullable<T["status"]>,
): Promise<T> {
  const wanted = asStored(status);
  if (isDeepStrictEqual(wanted, asStored(object.status ?? {}))) return object;
  return client.resource(kind).update({ ...object, status: wanted }, { subresource: "status" });
}

/**
 * A field that is undefined is absent in JSON, an empty list is absent in what the server stores: only so do
 * equal states compare as equal.
 */
function asStored<T extends object>(value: T): T {
  const isAbsent = (item: unknown): boolean =>
    item === undefined || (Array.isArray(item) && item.length === 0);
  return Object.fromEntries(Object.entries(value).filter(([, item]) => !isAbsent(item))) as T;
}

/** For `client.resource(kind).get` and its like. */
export function refTo(object: KubeObject & { metadata: { namespace?: string } }): ObjectRef {
  const { namespace, name } = object.metadata;
  return namespace === undefined ? { name } : { namespace, name };
}

interface Condition {
  type?: string;
  status?: string;
  reason?: string;
  message?: string;
  lastTransitionTime?: string;
}

/**
 * The conditions with this one set: its transition time changes with its status alone, and nothing changes if
 * status, reason and message are the same.
 */
export function withCondition<C extends Condition>(
  conditions: readonly C[] | undefined,
  condition: C & { type: string; status: string },
  now: string,
): C[] {
  const old = conditions?.find(({ type }) => type === condition.type);
  if (
    old?.status === condition.status &&
    old.reason === condition.reason &&
    old.message === condition.message
  ) {
    return [...(conditions ?? [])];
  }
  const lastTransitionTime =
    old?.status === condition.status && old.lastTransitionTime !== undefined ? old.lastTransitionTime : now;
  const others = (conditions ?? []).filter(({ type }) => type !== condition.type);
  return [...others, { ...condition, lastTransitionTime }];
}

/** Returns the counts without those that are zero, which a status leaves out. */
export function nonZeroCounts<T extends Record<string, number>>(counts: T): Partial<T> {
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0)) as Partial<T>;
}
