import type { KubeObject } from "./object.ts";

/**
 * T as it came over the wire: decoded, without defaults, not validated. Every field may be absent,
 * even one that T requires, and null: the decoder writes null where Go writes a nil list, map or pointer, or
 * a zero time. Truth values are never null. Lists and maps keep their elements: null in their place is read
 * as the zero value of the element, which is null only for a list or a map.
 *
 * To TypeScript times and bytes are strings. Elements of these are the exception: null in
 * `PodDisruptionBudget.status.disruptedPods`, `ConfigMap.binaryData` and `Secret.data` stays null.
 */
export type Wire<T> = T extends readonly (infer E)[]
  ? WireElement<E>[]
  : T extends object
    ? string extends keyof T
      ? { [K in keyof T]: WireElement<T[K]> }
      : { [K in keyof T]?: Wire<T[K]> | NullOf<T[K]> }
    : T;

/** An element of a list, or a value of a map. */
type WireElement<T> = T extends readonly unknown[] ? Wire<T> | null : Wire<T>;

type NullOf<T> = [T] extends [boolean | undefined] ? never : null;

/**
 * Checks that a decoded object has the fields that all kinds share, which decoding sets in any body. Fields
 * that the server fills in (`uid`, `resourceVersion`) may still be missing, and the fields of the kind are
 * those of `Wire` until its validation has passed. Throws a TypeError.
 */
export function assertKubeObject(object: Wire<KubeObject>): asserts object is KubeObject {
  const { apiVersion, kind, metadata } = object;
  if (typeof apiVersion !== "string" || typeof kind !== "string" || metadata == null)
    throw new TypeError("the decoded object lacks apiVersion, kind or metadata");
}
