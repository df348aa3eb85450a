import { apiVersionOf, type Draft, type Kind, type KubeObject } from "@dray/api";
import { withoutNulls } from "@dray/api/nulls";
import { ConnectionError, type WatchEvent } from "../transport/exchange.ts";
import type { ObjectRef } from "./object-ref.ts";
import type {
  ApplyOptions,
  DeepPartial,
  DeleteOptions,
  List,
  ListQuery,
  PatchType,
  ResourceClient,
  WatchQuery,
  WriteOptions,
} from "./resource-client.ts";
import { discard, errorOf, objectOf } from "./responses.ts";
import type { Send, SendOptions } from "./send.ts";

const patchContentTypes: Readonly<Record<PatchType, string>> = {
  json: "application/json-patch+json",
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
};

interface WireList<T> {
  readonly metadata: { readonly resourceVersion?: string; readonly continue?: string };
  readonly items?: readonly T[] | null;
}

/** A client of one kind that sends its requests with `send`. */
export function createResourceClient<T extends KubeObject>(kind: Kind<T>, send: Send): ResourceClient<T> {
  const apiVersion = apiVersionOf(kind);
  const type = { apiVersion, kind: kind.kind };
  const typed = (draft: object): object => ({ ...type, ...draft });

  async function request(method: string, url: string, options?: SendOptions): Promise<object> {
    const response = await send(method, url, options);
    if (response.status >= 400) throw await errorOf(response);
    const object = await objectOf(response);
    if (object === undefined) throw new ConnectionError(`${method} ${url} was not answered with an object`);
    return withoutNulls(object, type);
  }

  async function patch(
    ref: ObjectRef,
    contentType: string,
    body: unknown,
    write: WriteOptions & { force?: boolean } = {},
  ): Promise<T> {
    return (await request("PATCH", objectPath(kind, ref, write.subresource) + writeQuery(write), {
      body: body as object,
      headers: { "content-type": contentType },
      signal: write.signal,
    })) as T;
  }

  return {
    async get(ref, get = {}) {
      const url = objectPath(kind, ref, get.subresource) + query({ resourceVersion: get.resourceVersion });
      return (await request("GET", url, { signal: get.signal })) as T;
    },
    async list(list = {}, { signal } = {}) {
      const url = collectionPath(kind, list.namespace) + query({ ...list, namespace: undefined });
      return listOf(kind, (await request("GET", url, { signal })) as WireList<T>);
    },
    async *watch(watch: WatchQuery = {}, { signal }: { signal?: AbortSignal } = {}) {
      const parameters = query({ watch: true, ...watch, namespace: undefined });
      const url = collectionPath(kind, watch.namespace) + parameters;
      const response = await send("GET", url, { signal });
      if (response.status >= 400) throw await errorOf(response);
      if (response.type !== "watch") {
        await discard(response);
        throw new ConnectionError(`GET ${url} was not answered with a watch`);
      }
      for await (const frame of response.events) yield readEvent(frame.event as WatchEvent<T>, type);
    },
    async create(draft: Draft<T>, write: WriteOptions = {}) {
      const { namespace } = draft.metadata;
      if (kind.namespaced && !namespace) throw new TypeError(`${kind.kind}: no metadata.namespace is given`);
      if (write.subresource !== undefined) throw new TypeError("create has no subresource: use post");
      const url = collectionPath(kind, namespace) + writeQuery(write);
      return (await request("POST", url, { body: typed(draft), signal: write.signal })) as T;
    },
    async update(object: T, write: WriteOptions = {}) {
      const url = objectPath(kind, object.metadata as ObjectRef, write.subresource) + writeQuery(write);
      return (await request("PUT", url, { body: typed(object), signal: write.signal })) as T;
    },
    patch(ref: ObjectRef, type: PatchType, body: unknown, write?: WriteOptions) {
      return patch(ref, patchContentTypes[type], body, write);
    },
    apply(config: DeepPartial<T> & { metadata: ObjectRef }, apply: ApplyOptions) {
      return patch(config.metadata, "application/apply-patch+yaml", typed(config), apply);
    },
    async delete(ref: ObjectRef, options: DeleteOptions = {}) {
      const body = deleteBody(options);
      const result = await request("DELETE", objectPath(kind, ref), { body, signal: options.signal });
      return (result as { kind?: string }).kind === "Status" ? undefined : (result as T);
    },
    async deleteCollection(list: ListQuery, options: DeleteOptions = {}) {
      const url = collectionPath(kind, list.namespace) + query({ ...list, namespace: undefined });
      await request("DELETE", url, { body: deleteBody(options), signal: options.signal });
    },
    async post<R>(ref: ObjectRef, subresource: string, body: object, write: WriteOptions = {}) {
      const url = objectPath(kind, ref, subresource) + writeQuery(write);
      return (await request("POST", url, { body, signal: write.signal })) as R;
    },
  };
}

function listOf<T extends KubeObject>(kind: Kind<T>, list: WireList<T>): List<T> {
  const { metadata, items } = list;
  const type = { apiVersion: apiVersionOf(kind), kind: kind.kind };
  return Object.freeze({
    resourceVersion: metadata.resourceVersion ?? "",
    // Items of typed lists lack kind and apiVersion.
    items: Object.freeze(
      (items ?? []).map((item) =>
        withoutNulls(item.kind === undefined ? Object.freeze({ ...item, ...type }) : item, type),
      ),
    ),
    ...(metadata.continue ? { continue: metadata.continue } : {}),
  });
}

/** Objects in process are shared: an event is copied only if its object is. */
function readEvent<T extends KubeObject>(
  event: WatchEvent<T>,
  type: { readonly apiVersion: string; readonly kind: string },
): WatchEvent<T> {
  const object = withoutNulls(event.object, type);
  return object === event.object ? event : Object.freeze({ ...event, object });
}

function collectionPath<T extends KubeObject>(kind: Kind<T>, namespace: string | undefined): string {
  const { group, version, namespaced, resource } = kind;
  const root = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
  return namespaced && namespace !== undefined
    ? `${root}/namespaces/${encodeURIComponent(namespace)}/${resource}`
    : `${root}/${resource}`;
}

function objectPath<T extends KubeObject>(kind: Kind<T>, ref: ObjectRef, subresource?: string): string {
  if (kind.namespaced && !ref.namespace)
    throw new TypeError(`${kind.kind} ${ref.name}: no namespace is given`);
  if (!ref.name) throw new TypeError(`${kind.kind}: no name is given`);
  const tail = subresource === undefined ? "" : `/${subresource}`;
  return `${collectionPath(kind, ref.namespace)}/${encodeURIComponent(ref.name)}${tail}`;
}

function query(parameters: Readonly<Record<string, string | number | boolean | undefined>>): string {
  const parts: string[] = [];
  for (const [name, value] of Object.entries(parameters))
    if (value !== undefined) parts.push(`${name}=${encodeURIComponent(value)}`);
  return parts.length === 0 ? "" : `?${parts.join("&")}`;
}

function writeQuery(write: WriteOptions & { force?: boolean }): string {
  return query({
    fieldManager: write.fieldManager,
    dryRun: write.dryRun === true ? "All" : undefined,
    fieldValidation: write.fieldValidation,
    force: write.force,
  });
}

function deleteBody(options: DeleteOptions): object {
  return {
    apiVersion: "v1",
    kind: "DeleteOptions",
    ...(options.gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds: options.gracePeriodSeconds }),
    ...(options.propagationPolicy === undefined ? {} : { propagationPolicy: options.propagationPolicy }),
    ...(options.preconditions === undefined ? {} : { preconditions: options.preconditions }),
    ...(options.dryRun === true ? { dryRun: ["All"] } : {}),
  };
}
