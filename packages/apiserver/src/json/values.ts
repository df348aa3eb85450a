/** A decoded JSON object: possibly frozen, possibly without a prototype. */
export type JsonObject = { readonly [key: string]: unknown };

/** An object under construction. */
export type MutableObject = { [key: string]: unknown };

/** Returns the object itself by its fields: the types of kinds have no index signature. */
export function fieldsIn(object: object): MutableObject {
  return object as MutableObject;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns the own field of this name; a key such as `constructor` never reaches the prototype. */
export function fieldOf(object: JsonObject, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

/** Sets an own field, `__proto__` included. */
export function setField(object: MutableObject, key: string, value: unknown): void {
  if (key === "__proto__") {
    Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
  } else {
    object[key] = value;
  }
}

/** Returns an empty object with the prototype of `like`, or without one. */
export function emptyLike(like: JsonObject | undefined): MutableObject {
  return like !== undefined && Object.getPrototypeOf(like) === null ? Object.create(null) : {};
}

/** Number of fields from which on copying them one by one takes half the time of a spread. */
const manyFields = 1000;

function hasManyFields(object: JsonObject): boolean {
  let fields = 0;
  for (const _ in object) if (++fields > manyFields) return true;
  return false;
}

/** Returns a shallow copy that may be changed. */
export function copyOf(object: JsonObject): MutableObject {
  if (Object.getPrototypeOf(object) !== null && !hasManyFields(object)) return { ...object };
  const copy = emptyLike(object);
  for (const key in object) setField(copy, key, object[key]);
  return copy;
}

/** Returns a shallow copy with one field set. */
export function withField(object: JsonObject, key: string, value: unknown): JsonObject {
  const copy = copyOf(object);
  setField(copy, key, value);
  return copy;
}

/** Returns a shallow copy without one field; the object itself if it has no such field. */
export function withoutField(object: JsonObject, key: string): JsonObject {
  if (!Object.hasOwn(object, key)) return object;
  const copy = copyOf(object);
  delete copy[key];
  return copy;
}

export function isEmpty(object: object): boolean {
  for (const _ in object) return false;
  return true;
}

/**
 * Deep equality of JSON values; numbers compare by value whether `number` or `bigint`. Null and missing
 * differ.
 */
export function jsonEqual(left: unknown, right: unknown): boolean {
  if (left === right) return true;
  if (typeof left !== "object" || typeof right !== "object") {
    // biome-ignore lint/suspicious/noDoubleEquals: a bigint equals the number of the same value
    return isNumeric(left) && isNumeric(right) && left == right;
  }
  if (left === null || right === null) return false;
  if (Array.isArray(left)) {
    return (
      Array.isArray(right) &&
      left.length === right.length &&
      left.every((item, i) => jsonEqual(item, right[i]))
    );
  }
  if (Array.isArray(right)) return false;
  const a = left as JsonObject;
  const b = right as JsonObject;
  let fields = 0;
  for (const key in a) {
    if (!Object.hasOwn(b, key) || !jsonEqual(a[key], b[key])) return false;
    fields++;
  }
  for (const _ in b) fields--;
  return fields === 0;
}

export function isNumeric(value: unknown): value is number | bigint {
  return typeof value === "number" || typeof value === "bigint";
}
