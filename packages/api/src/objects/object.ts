import type { ObjectMeta, OwnerReference } from "../generated/meta/v1.ts";

/** An int64 of the API: a number, or a bigint where its digits would be lost. */
export type Int64 = number | bigint;
/** A quantity in text form, `10Gi`; see `Quantity` for arithmetic. */
export type QuantityText = string;
/** RFC 3339 in UTC, whole seconds: `2026-01-02T03:04:05Z`. */
export type Time = string;
/** RFC 3339 in UTC with microseconds. */
export type MicroTime = string;
export type IntOrString = number | string;

/** Metadata of an object that the server has stored. */
export interface StoredMeta extends ObjectMeta {
  name: string;
  uid: string;
  resourceVersion: string;
  creationTimestamp: Time;
}

/** Metadata of a stored object that lives in a namespace. */
export interface NamespacedMeta extends StoredMeta {
  namespace: string;
}

/** Any stored object: the fields that all kinds share. */
export interface KubeObject {
  apiVersion: string;
  kind: string;
  metadata: StoredMeta;
}

/** An object as a client writes it: what the server fills in may be missing. */
export type Draft<T> = Omit<T, "apiVersion" | "kind" | "metadata" | "status"> & {
  apiVersion?: string;
  kind?: string;
  metadata: ObjectMeta;
} & (T extends { status?: infer S } ? { status?: S } : unknown);

/** A kind with the type of its objects: what callers hand to a client, `client.resource(Pod)`. */
export interface Kind<T extends KubeObject = KubeObject> {
  /** "" for the core group. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  /** The plural, as paths have it: `pods`. */
  readonly resource: string;
  readonly namespaced: boolean;
  /** Never set: carries the type of the objects. */
  readonly object?: T;
}

/** `v1` or `group/version`. */
export function apiVersionOf(kind: { readonly group: string; readonly version: string }): string {
  return kind.group === "" ? kind.version : `${kind.group}/${kind.version}`;
}

/** The reference of the one owner that manages the object. Upstream: metav1.GetControllerOf. */
export function controllerOf(object: { readonly metadata: ObjectMeta }): OwnerReference | undefined {
  return object.metadata.ownerReferences?.find(({ controller }) => controller === true);
}
