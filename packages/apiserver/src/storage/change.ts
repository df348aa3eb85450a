import type { KubeObject } from "@dray/api";
import type { StoreEvent } from "@dray/store";
import type { CacheEvent } from "./history.ts";
import { deepFreeze, parseStored } from "./json.ts";
import { shareFields } from "./shared-fields.ts";
import { withoutStoredNulls } from "./stored-nulls.ts";

/** A value of the store that is not an object of Kubernetes. */
export class StoredValueError extends Error {
  override readonly name = "StoredValueError";
}

/** Parses the object in a value of the store. Throws StoredValueError, which contains the key. */
export function readStored(key: string, value: string): KubeObject {
  try {
    const object = parseStored(value) as Partial<KubeObject> | null;
    if (typeof object?.metadata === "object" && object.metadata !== null)
      return withoutStoredNulls(object as KubeObject, value);
  } catch (error) {
    throw new StoredValueError(`the value at ${key} is not an object in JSON: ${(error as Error).message}`, {
      cause: error,
    });
  }
  throw new StoredValueError(`the value at ${key} is not an object: it has no metadata`);
}

/**
 * Returns the cache event of a store event. A deleted object has its last state, at the revision of the
 * deletion.
 */
export function changeOf(
  event: StoreEvent,
  previous: KubeObject | undefined,
  object: KubeObject | undefined,
): CacheEvent {
  const { key, revision, value } = event;
  return {
    type: object === undefined ? "DELETED" : previous === undefined ? "ADDED" : "MODIFIED",
    revision,
    key,
    object: withRevision((object ?? previous) as KubeObject, revision),
    size: value.length,
    frames: new Map(),
    ...(previous === undefined ? {} : { previous }),
  };
}

/** Returns a stored object as served: frozen, with its resourceVersion. */
export function withRevision(object: KubeObject, revision: number): KubeObject {
  const resourceVersion = String(revision);
  const { metadata, ...rest } = shareFields(object);
  return deepFreeze({ ...rest, metadata: { ...metadata, resourceVersion } } as KubeObject);
}
