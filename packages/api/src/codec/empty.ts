const emptied = new WeakMap<object, Set<string>>();

/** Notes that a list or map came empty; the object does not have it, because it is written as if it had not come. */
export function noteEmpty(object: object, field: string): void {
  const fields = emptied.get(object);
  if (fields === undefined) emptied.set(object, new Set([field]));
  else fields.add(field);
}

/** Makes a copy of an object, or of a part of it, know what the object knows. */
export function keepEmpty<T extends object>(copy: T, original: object): T {
  const fields = emptied.get(original);
  if (fields !== undefined) emptied.set(copy, new Set([...(emptied.get(copy) ?? []), ...fields]));
  return copy;
}

/**
 * True for a list or map that a client has sent empty. Storing loses the difference to one that was not sent, but
 * some rules and messages of the API server know it. Copies of the object do not.
 */
export function cameEmpty(object: object | undefined, field: string): boolean {
  return object !== undefined && (emptied.get(object)?.has(field) ?? false);
}
