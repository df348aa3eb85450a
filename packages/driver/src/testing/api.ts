import { deepFreeze, encodeJSON, type KubeObject, StatusError } from "@dray/api";
import type { ApiRequest, ApiResponse, Clock, Transport } from "@dray/client";
import { MemoryObjects, type Path } from "./objects.ts";

/**
 * An API server in memory, as far as drivers need one: get, list, watch, create, update and delete of any
 * kind, status subresources, field selectors, conflicts and preconditions. It has neither validation nor
 * defaults nor rights: a test of these needs a real one (`@dray/cluster/testing`).
 */
export interface MemoryApi {
  readonly transport: Transport;
  /** Ends all watches. */
  close(): void;
}

type Request = Omit<ApiRequest, "credential">;

export function memoryApi(clock: Clock): MemoryApi {
  const objects = new MemoryObjects(clock);
  return {
    transport: {
      async request(request) {
        // As over a network, a response never arrives in the turn of the event loop of its request.
        await new Promise((resolve) => setImmediate(resolve));
        try {
          return handle(objects, request);
        } catch (error) {
          if (!(error instanceof StatusError)) throw error;
          return answer(error.code, { kind: "Status", apiVersion: "v1", ...error.status });
        }
      },
      close() {},
    },
    close: () => objects.close(),
  };
}

function handle(objects: MemoryObjects, request: Request): ApiResponse {
  const url = new URL(request.url, "http://memory");
  if (/^\/apis\/[^/]+$/.test(url.pathname)) {
    return answer(200, { kind: "APIGroup", versions: [{ version: "v1", groupVersion: "" }] });
  }
  const path = parsePath(url.pathname);
  const body = (request.body ?? {}) as KubeObject & object;
  switch (request.method) {
    case "GET":
      if (path.name !== undefined) return answer(200, objects.find(path));
      if (url.searchParams.get("watch") === "true") {
        const events = objects.watch(path, url.searchParams, request.signal);
        return { status: 200, headers: {}, type: "watch", events };
      }
      return answer(200, {
        kind: "List",
        metadata: { resourceVersion: String(objects.revision) },
        items: objects.selected(path, url.searchParams),
      });
    case "POST":
      return answer(201, objects.create(path, body));
    case "PUT":
      return answer(200, objects.update(path, body));
    case "DELETE":
      if (path.name !== undefined) return answer(200, objects.remove(path, body as object));
      for (const { metadata } of objects.selected(path, url.searchParams)) {
        objects.remove({ ...path, name: metadata.name, namespace: metadata.namespace }, {});
      }
      return answer(200, { kind: "Status", status: "Success" });
    default:
      throw StatusError.of("MethodNotAllowed", `${request.method} is not offered in memory`);
  }
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
