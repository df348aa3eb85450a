const emptied = new WeakMap<object, Map<string, unknown>>();

/**
 * Notes that a list or map came empty; the object does not have it, because it is written as if it had not
 * come. `value` is the list or map that came.
 */
export function noteEmpty(object: object, field: string, value: unknown = []): void {
  const fields = emptied.get(object);
  if (fields === undefined) emptied.set(object, new Map([[field, value]]));
  else fields.set(field, value);
}

/** Removes the note that a list or map came empty. */
export function forgetEmpty(object: object, field: string): void {
  emptied.get(object)?.delete(field);
}

/** Copies the notes about empty fields from an object to a copy of it, or of a part of it. */
export function keepEmpty<T extends object>(copy: T, original: object): T {
  const fields = emptied.get(original);
  if (fields !== undefined) emptied.set(copy, new Map([...(emptied.get(copy) ?? []), ...fields]));
  return copy;
}

/**
 * True for a list or map that a client has sent empty. Storing loses the difference to one that was not sent,
 * but some rules and messages of the API server depend on it. Copies of the object do not, nor do objects of
 * the store, which are frozen.
 */
export function cameEmpty(object: object | undefined, field: string): boolean {
  return object !== undefined && (emptied.get(object)?.has(field) ?? false) && !Object.isFrozen(object);
}

/**
 * The value with an empty list or map wherever one was received and null is written; the value itself if it
 * has no such field. The API server sees an object in this form before it is stored, and counts such a field
 * as one that the client sets.
 */
export function withEmpty<T>(value: T): T {
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return value;
  let copy: Record<string, unknown> | undefined;
  for (const key of Object.keys(value)) {
    const item = (value as Record<string, unknown>)[key];
    // Looked up for null only, which is rare: this runs over every object that is written.
    const restored: unknown = item === null ? (emptied.get(value)?.get(key) ?? null) : withEmpty(item);
    if (restored === item) continue;
    copy ??= (Array.isArray(value) ? [...value] : { ...value }) as Record<string, unknown>;
    copy[key] = restored;
  }
  return (copy as T | undefined) ?? value;
}
