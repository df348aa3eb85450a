import { randomUUID } from "node:crypto";
import { deepFreeze, encodeJSON, type KubeObject, StatusError, timeText } from "@dray/api";
import type { ApiRequest, ApiResponse, Clock, Transport, WatchEvent } from "@dray/client";

/**
 * An API server in memory, as far as drivers need one: get, list, watch, create, update and delete of any kind, status
 * subresources, field selectors, conflicts and preconditions. It has neither validation nor defaults nor rights: a test of
 * these needs a real one (`@dray/cluster/testing`).
 */
export interface MemoryApi {
  readonly transport: Transport;
  /** Ends all watches. */
  close(): void;
}

interface Path {
  readonly group: string;
  readonly version: string;
  readonly namespace?: string | undefined;
  readonly resource: string;
  readonly name?: string | undefined;
  readonly subresource?: string | undefined;
}

interface Change {
  readonly revision: number;
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly object: KubeObject;
  readonly resource: string;
}

type Request = Omit<ApiRequest, "credential">;

const letters = "bcdfghjklmnpqrstvwxz2456789";

export function memoryApi(clock: Clock): MemoryApi {
  const objects = new Map<string, KubeObject>();
  const changes: Change[] = [];
  const watchers = new Set<() => void>();
  let revision = 1;
  let closed = false;

  const keyOf = ({ group, resource, namespace = "" }: Path, name: string): string =>
    `${group}/${resource}/${namespace}/${name}`;
  const resourceOf = ({ group, resource }: Path): string => `${group}/${resource}`;

  const change = (path: Path, type: Change["type"], object: KubeObject): KubeObject => {
    const stored = deepFreeze({
      ...object,
      metadata: { ...object.metadata, resourceVersion: String(++revision) },
    } as KubeObject);
    const key = keyOf(path, stored.metadata.name);
    if (type === "DELETED") objects.delete(key);
    else objects.set(key, stored);
    changes.push({ revision, type, object: stored, resource: resourceOf(path) });
    for (const wake of watchers) wake();
    return stored;
  };

  const find = (path: Path): KubeObject => {
    const found = objects.get(keyOf(path, path.name!));
    if (found !== undefined) return found;
    throw StatusError.of("NotFound", `${path.resource}.${path.group} "${path.name}" not found`, {
      name: path.name!,
      kind: path.resource,
    });
  };

  const create = (path: Path, body: KubeObject): KubeObject => {
    const { name: given, generateName } = body.metadata;
    const suffix = Array.from(
      randomUUID().replaceAll("-", "").slice(0, 5),
      (one) => letters[Number.parseInt(one, 16)],
    );
    const name = given || `${generateName}${suffix.join("")}`;
    const { namespace } = path;
    if (objects.has(keyOf(path, name))) {
      throw StatusError.of("AlreadyExists", `${path.resource}.${path.group} "${name}" already exists`);
    }
    const metadata = {
      ...body.metadata,
      name,
      ...(namespace === undefined ? {} : { namespace }),
      uid: randomUUID(),
      generation: 1,
      creationTimestamp: timeText(clock.now()),
    };
    return change(path, "ADDED", { ...body, metadata } as KubeObject);
  };

  const update = (path: Path, body: KubeObject): KubeObject => {
    const old = find(path);
    const sent = body.metadata.resourceVersion;
    if (sent && sent !== old.metadata.resourceVersion) {
      throw StatusError.of("Conflict", `${path.resource} "${path.name}": the object has been modified`);
    }
    const { status } = body as { status?: unknown };
    const next =
      path.subresource === "status"
        ? { ...old, status }
        : { ...body, metadata: { ...old.metadata, ...body.metadata } };
    return change(path, "MODIFIED", next as KubeObject);
  };

  const remove = (
    path: Path,
    body: { preconditions?: { uid?: string; resourceVersion?: string } },
  ): object => {
    const old = find(path);
    const { uid = old.metadata.uid, resourceVersion = old.metadata.resourceVersion } =
      body.preconditions ?? {};
    if (uid !== old.metadata.uid || resourceVersion !== old.metadata.resourceVersion) {
      throw StatusError.of("Conflict", `${path.resource} "${path.name}": the precondition does not hold`);
    }
    return change(path, "DELETED", old);
  };

  const selected = (path: Path, query: URLSearchParams): KubeObject[] => {
    const matches = matcher(path, query.get("fieldSelector") ?? "");
    const prefix = `${resourceOf(path)}/`;
    return [...objects]
      .filter(([key]) => key.startsWith(prefix))
      .map(([, one]) => one)
      .filter(matches);
  };

  async function* watch(path: Path, query: URLSearchParams, signal: AbortSignal) {
    const matches = matcher(path, query.get("fieldSelector") ?? "");
    let seen = Number(query.get("resourceVersion") ?? revision);
    if (query.get("sendInitialEvents") === "true") {
      seen = revision;
      for (const object of selected(path, query)) yield frame("ADDED", object);
      yield frame("BOOKMARK", {
        metadata: { resourceVersion: String(seen), annotations: { "k8s.io/initial-events-end": "true" } },
      } as unknown as KubeObject);
    }
    while (!signal.aborted && !closed) {
      const next = changes.find((one) => one.revision > seen);
      if (next === undefined) {
        await new Promise<void>((resolve) => {
          const wake = (): void => {
            watchers.delete(wake);
            signal.removeEventListener("abort", wake);
            resolve();
          };
          watchers.add(wake);
          signal.addEventListener("abort", wake, { once: true });
        });
        continue;
      }
      seen = next.revision;
      if (next.resource === resourceOf(path) && matches(next.object)) yield frame(next.type, next.object);
    }
  }

  const handle = (request: Request): ApiResponse => {
    const url = new URL(request.url, "http://memory");
    if (/^\/apis\/[^/]+$/.test(url.pathname)) {
      return answer(200, { kind: "APIGroup", versions: [{ version: "v1", groupVersion: "" }] });
    }
    const path = parsePath(url.pathname);
    const body = (request.body ?? {}) as KubeObject & object;
    switch (request.method) {
      case "GET":
        if (path.name !== undefined) return answer(200, find(path));
        if (url.searchParams.get("watch") === "true") {
          const events = watch(path, url.searchParams, request.signal);
          return { status: 200, headers: {}, type: "watch", events };
        }
        return answer(200, {
          kind: "List",
          metadata: { resourceVersion: String(revision) },
          items: selected(path, url.searchParams),
        });
      case "POST":
        return answer(201, create(path, body));
      case "PUT":
        return answer(200, update(path, body));
      case "DELETE":
        if (path.name !== undefined) return answer(200, remove(path, body as object));
        for (const { metadata } of selected(path, url.searchParams)) {
          remove({ ...path, name: metadata.name, namespace: metadata.namespace }, {});
        }
        return answer(200, { kind: "Status", status: "Success" });
      default:
        throw StatusError.of("MethodNotAllowed", `${request.method} is not offered in memory`);
    }
  };

  return {
    transport: {
      async request(request) {
        // As over a network, an answer never comes in the turn of its request.
        await new Promise((resolve) => setImmediate(resolve));
        try {
          return handle(request);
        } catch (error) {
          if (!(error instanceof StatusError)) throw error;
          return answer(error.code, { kind: "Status", apiVersion: "v1", ...error.status });
        }
      },
      close() {},
    },
    close() {
      closed = true;
      for (const wake of watchers) wake();
    },
  };
}

function answer(status: number, object: object): ApiResponse {
  return {
    status,
    headers: { "content-type": "application/json" },
    type: "body",
    object: deepFreeze(object),
    bytes: () => Buffer.from(encodeJSON(object)),
  };
}

function frame(type: WatchEvent<KubeObject>["type"], object: KubeObject) {
  const event = { type, object };
  return { event, bytes: () => Buffer.from(encodeJSON(event)) };
}

/** `/api/v1/...` and `/apis/GROUP/VERSION/...`. */
function parsePath(path: string): Path {
  const parts = path.split("/").slice(1).map(decodeURIComponent);
  const group = parts[0] === "api" ? "" : parts[1];
  const rest = parts.slice(parts[0] === "api" ? 1 : 2);
  const [version, ...tail] = rest;
  const namespaced = tail[0] === "namespaces" && tail.length > 2;
  const [resource, name, subresource] = namespaced ? tail.slice(2) : tail;
  if (group === undefined || version === undefined || resource === undefined) {
    throw StatusError.of("NotFound", "the server could not find the requested resource");
  }
  return { group, version, resource, name, subresource, namespace: namespaced ? tail[1] : undefined };
}

/** `a.b=c,d.e=`: a field that is absent is the empty text. */
function matcher({ namespace }: Path, selector: string): (object: KubeObject) => boolean {
  const terms =
    selector === "" ? [] : selector.split(",").map((term) => term.split(/==?/) as [string, string]);
  const valueAt = (object: KubeObject, path: string): unknown =>
    path.split(".").reduce<unknown>((at, key) => (at as Record<string, unknown> | undefined)?.[key], object);
  return (object) =>
    (namespace === undefined || object.metadata.namespace === namespace) &&
    terms.every(([path, value]) => String(valueAt(object, path) ?? "") === value);
}
