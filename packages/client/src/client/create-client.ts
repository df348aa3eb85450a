import { apiVersionOf, type Draft, type Kind, type KubeObject } from "@dray/api";
import { type Clock, systemClock } from "../clock.ts";
import type { Informer, InformerOptions } from "../informer/informer.ts";
import { followServer } from "../informer/reflector.ts";
import { type Log, silentLog } from "../log.ts";
import { tokenBucket } from "../tools/rate-limiter.ts";
import { ConnectionError, type Transport, type WatchEvent } from "../transport/exchange.ts";
import type { Client } from "./client.ts";
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
import { bytesOf, discard, failure, objectOf } from "./responses.ts";
import { type Send, type SendOptions, sender } from "./send.ts";

export interface ClientOptions {
  readonly transport: Transport;
  /** `dray-scheduler/0.1.0`: up to the slash it is the field manager of writes that name none. */
  readonly userAgent: string;
  /** At most so many requests a second, beside watches; any number if absent (client-go's QPS and Burst). */
  readonly qps?: number;
  /** How many of them at once; `qps` if absent. */
  readonly burst?: number;
  readonly clock?: Clock;
  readonly log?: Log;
  /** Between 0 and 1: spreads reconnections. */
  readonly random?: () => number;
}

/** A client of the server that `transport` leads to. */
export function createClient(options: ClientOptions): Client {
  const { transport, userAgent } = options;
  const clock = options.clock ?? systemClock;
  const log = options.log ?? silentLog;
  const random = options.random ?? Math.random;
  const { qps } = options;
  const limiter = qps === undefined ? undefined : tokenBucket(clock, qps, options.burst ?? Math.ceil(qps));
  const sendAny = sender({ transport, userAgent, clock, log, limiter });

  async function objectOfAnswer(
    send: Send,
    method: string,
    url: string,
    request?: SendOptions,
  ): Promise<object> {
    const response = await send(method, url, request);
    if (response.status >= 400) throw await failure(response);
    const value = await objectOf(response);
    if (value === undefined) throw new ConnectionError(`${method} ${url} was not answered with an object`);
    return value;
  }

  function resource<T extends KubeObject>(
    kind: Kind<T>,
    { ignoreWarnings = false }: { ignoreWarnings?: boolean } = {},
  ): ResourceClient<T> {
    const send: Send = (method, url, request) => sendAny(method, url, { ...request, ignoreWarnings });
    const object = (method: string, url: string, request?: SendOptions): Promise<object> =>
      objectOfAnswer(send, method, url, request);
    const apiVersion = apiVersionOf(kind);
    const root = kind.group === "" ? `/api/${kind.version}` : `/apis/${kind.group}/${kind.version}`;

    const collection = (namespace: string | undefined): string =>
      kind.namespaced && namespace !== undefined
        ? `${root}/namespaces/${encodeURIComponent(namespace)}/${kind.resource}`
        : `${root}/${kind.resource}`;
    const one = (ref: ObjectRef, subresource?: string): string => {
      if (kind.namespaced && !ref.namespace)
        throw new TypeError(`${kind.kind} ${ref.name}: no namespace is given`);
      if (!ref.name) throw new TypeError(`${kind.kind}: no name is given`);
      const tail = subresource === undefined ? "" : `/${subresource}`;
      return `${collection(ref.namespace)}/${encodeURIComponent(ref.name)}${tail}`;
    };
    const typed = (draft: object): object => ({ apiVersion, kind: kind.kind, ...draft });

    async function patch(
      ref: ObjectRef,
      contentType: string,
      body: unknown,
      write: WriteOptions & { force?: boolean } = {},
    ): Promise<T> {
      return (await object("PATCH", one(ref, write.subresource) + writeQuery(write), {
        body: body as object,
        headers: { "content-type": contentType },
        signal: write.signal,
      })) as T;
    }

    return {
      async get(ref, get = {}) {
        const url = one(ref, get.subresource) + query({ resourceVersion: get.resourceVersion });
        return (await object("GET", url, { signal: get.signal })) as T;
      },
      async list(list = {}, { signal } = {}) {
        const url = collection(list.namespace) + query({ ...list, namespace: undefined });
        const answer = (await object("GET", url, { signal })) as WireList<T>;
        const next = answer.metadata.continue;
        return Object.freeze({
          resourceVersion: answer.metadata.resourceVersion ?? "",
          // Items of typed lists say neither kind nor version.
          items: Object.freeze(
            (answer.items ?? []).map((item) =>
              item.kind === undefined ? Object.freeze({ ...item, apiVersion, kind: kind.kind }) : item,
            ),
          ),
          ...(next ? { continue: next } : {}),
        }) as List<T>;
      },
      async *watch(watch: WatchQuery = {}, { signal }: { signal?: AbortSignal } = {}) {
        const url = collection(watch.namespace) + query({ watch: true, ...watch, namespace: undefined });
        const response = await send("GET", url, { signal });
        if (response.status >= 400) throw await failure(response);
        if (response.type !== "watch") {
          await discard(response);
          throw new ConnectionError(`GET ${url} was not answered with a watch`);
        }
        for await (const frame of response.events) yield frame.event as WatchEvent<T>;
      },
      async create(draft: Draft<T>, write: WriteOptions = {}) {
        const namespace = draft.metadata.namespace;
        if (kind.namespaced && !namespace)
          throw new TypeError(`${kind.kind}: no metadata.namespace is given`);
        if (write.subresource !== undefined) throw new TypeError("create has no subresource: use post");
        const url = collection(namespace) + writeQuery(write);
        return (await object("POST", url, { body: typed(draft), signal: write.signal })) as T;
      },
      async update(changed: T, write: WriteOptions = {}) {
        const url = one(changed.metadata as ObjectRef, write.subresource) + writeQuery(write);
        return (await object("PUT", url, { body: typed(changed), signal: write.signal })) as T;
      },
      patch(ref: ObjectRef, type: PatchType, body: unknown, write?: WriteOptions) {
        return patch(ref, patchContentTypes[type], body, write);
      },
      apply(config: DeepPartial<T> & { metadata: ObjectRef }, apply: ApplyOptions) {
        return patch(config.metadata, "application/apply-patch+yaml", typed(config), apply);
      },
      async delete(ref: ObjectRef, remove: DeleteOptions = {}) {
        const answer = await object("DELETE", one(ref), {
          body: deleteBody(remove),
          signal: remove.signal,
        });
        return (answer as { kind?: string }).kind === "Status" ? undefined : (answer as T);
      },
      async deleteCollection(list: ListQuery, remove: DeleteOptions = {}) {
        const url = collection(list.namespace) + query({ ...list, namespace: undefined });
        await object("DELETE", url, { body: deleteBody(remove), signal: remove.signal });
      },
      async post<R>(ref: ObjectRef, subresource: string, body: object, write: WriteOptions = {}) {
        const url = one(ref, subresource) + writeQuery(write);
        return (await object("POST", url, { body, signal: write.signal })) as R;
      },
    };
  }

  return {
    resource,
    informer<T extends KubeObject>(kind: Kind<T>, informer: InformerOptions<T> = {}): Informer<T> {
      const { ignoreWarnings = false, ...options } = informer;
      return followServer(kind, resource(kind, { ignoreWarnings }), options, { clock, log, random });
    },
    async text(method, url, request = {}) {
      const response = await sendAny(method, url, request);
      if (response.status >= 400) throw await failure(response);
      return (await bytesOf(response)).toString("utf8");
    },
    async *stream(url, { signal } = {}) {
      const response = await sendAny("GET", url, { headers: { accept: "*/*" }, signal });
      if (response.status >= 400) throw await failure(response);
      if (response.type === "bytes") yield* response.chunks;
      else yield await bytesOf(response);
    },
    close: () => transport.close(),
  };
}

interface WireList<T> {
  readonly metadata: { readonly resourceVersion?: string; readonly continue?: string };
  readonly items?: readonly T[];
}

const patchContentTypes: Readonly<Record<PatchType, string>> = {
  json: "application/json-patch+json",
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
};

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
