import type { Draft, KubeObject } from "@dray/api";
import type { WatchEvent } from "../transport/exchange.ts";
import type { ObjectRef } from "./object-ref.ts";

export interface GetOptions {
  readonly resourceVersion?: string;
  /** Reads the subresource `status` or `scale` instead of the object. */
  readonly subresource?: string;
  readonly signal?: AbortSignal;
}

export interface ListQuery {
  /** All namespaces if absent. */
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly limit?: number;
  readonly continue?: string;
  readonly resourceVersion?: string;
  readonly resourceVersionMatch?: "Exact" | "NotOlderThan";
}

export interface WatchQuery extends Omit<ListQuery, "limit" | "continue"> {
  readonly allowWatchBookmarks?: boolean;
  readonly sendInitialEvents?: boolean;
  readonly timeoutSeconds?: number;
}

export interface WriteOptions {
  readonly fieldManager?: string;
  readonly dryRun?: boolean;
  readonly fieldValidation?: "Ignore" | "Warn" | "Strict";
  /** Writes the subresource `status`, `scale`, ... instead of the object. */
  readonly subresource?: string;
  readonly signal?: AbortSignal;
}

export type PatchType = "json" | "merge" | "strategic";

export interface ApplyOptions extends Omit<WriteOptions, "fieldManager"> {
  readonly fieldManager: string;
  readonly force?: boolean;
}

export interface DeleteOptions {
  readonly gracePeriodSeconds?: number;
  readonly propagationPolicy?: "Background" | "Foreground" | "Orphan";
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
  readonly dryRun?: boolean;
  readonly signal?: AbortSignal;
}

export interface List<T> {
  readonly resourceVersion: string;
  readonly items: readonly T[];
  /** Present if there are more pages. */
  readonly continue?: string;
}

/** Requests for one kind. All methods reject with `StatusError` or `ConnectionError`. Results are frozen. */
export interface ResourceClient<T extends KubeObject> {
  get(ref: ObjectRef, options?: GetOptions): Promise<T>;
  list(query?: ListQuery, options?: { signal?: AbortSignal }): Promise<List<T>>;
  /** Ends when the server ends it. Informers reconnect. */
  watch(query?: WatchQuery, options?: { signal?: AbortSignal }): AsyncIterable<WatchEvent<T>>;
  /** The namespace is that of the object's metadata. */
  create(object: Draft<T>, options?: WriteOptions): Promise<T>;
  update(object: T, options?: WriteOptions): Promise<T>;
  patch(ref: ObjectRef, type: PatchType, body: unknown, options?: WriteOptions): Promise<T>;
  /** Server-side apply: `object` contains the fields that `fieldManager` owns. */
  apply(object: DeepPartial<T> & { metadata: ObjectRef }, options: ApplyOptions): Promise<T>;
  /** Returns the object, or undefined if the server responds with a Status. */
  delete(ref: ObjectRef, options?: DeleteOptions): Promise<T | undefined>;
  deleteCollection(query: ListQuery, options?: DeleteOptions): Promise<void>;
  /** POST to a subresource with a body of its own kind: `binding`, `token`, `eviction`. */
  post<R>(ref: ObjectRef, subresource: string, body: object, options?: WriteOptions): Promise<R>;
}

export type DeepPartial<T> = T extends readonly (infer E)[]
  ? readonly DeepPartial<E>[]
  : T extends object
    ? { readonly [K in keyof T]?: DeepPartial<T[K]> }
    : T;
