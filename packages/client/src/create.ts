import { apiVersionOf, type Draft, type Kind, type KubeObject, StatusError, statusCodes } from "@dray/api";
import type { Status } from "@dray/api/meta/v1";
import type {
  ApplyOptions,
  Client,
  DeepPartial,
  DeleteOptions,
  List,
  ListQuery,
  ObjectRef,
  PatchType,
  ResourceClient,
  WatchQuery,
  WriteOptions,
} from "./client.ts";
import { type Clock, sleep, systemClock } from "./clock.ts";
import { type ApiResponse, ConnectionError, type Transport, type WatchEvent } from "./exchange.ts";
import { followServer } from "./follow.ts";
import type { Informer, InformerOptions } from "./informer.ts";
import { parseJSON } from "./json.ts";
import { type Log, silentLog } from "./log.ts";

export interface ClientOptions {
  readonly transport: Transport;
  /** `dray-scheduler/0.1.0`: up to the slash it is the field manager of writes that name none. */
  readonly userAgent: string;
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
  const forever = new AbortController().signal;

  /** Sends once; a refusal that names a time to come back is followed, ten times at most, as client-go does. */
  async function send(
    method: string,
    url: string,
    request: { body?: object; headers?: Record<string, string>; signal?: AbortSignal | undefined } = {},
  ): Promise<ApiResponse> {
    const signal = request.signal ?? forever;
    for (let attempt = 0; ; attempt++) {
      const response = await transport.request({
        method,
        url,
        headers: { accept: "application/json", "user-agent": userAgent, ...request.headers },
        ...(request.body === undefined ? {} : { body: request.body }),
        signal,
      });
      const wait = retryAfter(response);
      if (wait === undefined || attempt === 10) {
        warn(response, method, url);
        return response;
      }
      await discard(response);
      await sleep(clock, wait, signal);
      if (signal.aborted) throw new ConnectionError(`${method} ${url} was given up by its caller`);
    }
  }

  function warn(response: ApiResponse, method: string, url: string): void {
    const header = response.headers["warning"];
    if (header !== undefined) log.warn({ method, url, warning: header }, "the API server warns");
  }

  async function object(
    method: string,
    url: string,
    request?: { body?: object; headers?: Record<string, string>; signal?: AbortSignal | undefined },
  ): Promise<object> {
    const response = await send(method, url, request);
    if (response.status >= 400) throw await failure(response);
    const value = await whole(response);
    if (value === undefined) throw new ConnectionError(`${method} ${url} was not answered with an object`);
    return value;
  }

  function resource<T extends KubeObject>(kind: Kind<T>): ResourceClient<T> {
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
        const url = one(ref) + query({ resourceVersion: get.resourceVersion });
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
      return followServer(kind, resource(kind), informer, { clock, log, random });
    },
    async text(method, url, request = {}) {
      const response = await send(method, url, request);
      if (response.status >= 400) throw await failure(response);
      return (await bytesOf(response)).toString("utf8");
    },
    async *stream(url, { signal } = {}) {
      const response = await send("GET", url, { headers: { accept: "*/*" }, signal });
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

/** Milliseconds to wait before trying again, if the server asks for that. */
function retryAfter(response: ApiResponse): number | undefined {
  if (response.status !== 429 && response.status < 500) return undefined;
  const header = response.headers["retry-after"];
  const seconds = Number(header);
  return header !== undefined && Number.isInteger(seconds) && seconds >= 0 ? seconds * 1000 : undefined;
}

/** Gives up an answer that nobody will read. */
async function discard(response: ApiResponse): Promise<void> {
  if (response.type === "watch") for await (const _ of response.events) break;
  if (response.type === "bytes") for await (const _ of response.chunks) break;
}

async function bytesOf(response: ApiResponse): Promise<Buffer> {
  if (response.type === "body") return Buffer.from(response.bytes());
  const parts: Uint8Array[] = [];
  if (response.type === "bytes") for await (const chunk of response.chunks) parts.push(chunk);
  else for await (const frame of response.events) parts.push(frame.bytes());
  return Buffer.concat(parts);
}

async function whole(response: ApiResponse): Promise<object | undefined> {
  if (response.type === "body" && response.object !== undefined) return response.object;
  await discard(response);
  return undefined;
}

/** The error that a failed answer stands for; text answers (a proxy's, `404 page not found`) are wrapped. */
async function failure(response: ApiResponse): Promise<Error> {
  if (response.type === "body" && isStatus(response.object)) return new StatusError(response.object);
  const text = (await bytesOf(response)).toString("utf8").trim();
  let parsed: unknown;
  try {
    parsed = parseJSON(text);
  } catch {
    // Not JSON: the text itself is the message.
  }
  if (isStatus(parsed)) return new StatusError(parsed);
  const reason = Object.entries(statusCodes).find(([, code]) => code === response.status)?.[0];
  return new StatusError({
    status: "Failure",
    code: response.status,
    ...(reason === undefined || response.status === 409 ? {} : { reason }),
    message: text === "" ? `the server answered ${response.status}` : text,
  });
}

function isStatus(value: unknown): value is Status {
  return typeof value === "object" && value !== null && (value as { kind?: unknown }).kind === "Status";
}
