import type { ApiResponse } from "@dray/client";
import { methodNotAllowed, notServed } from "../response.ts";
import type { Context } from "./context.ts";
import { deleteCollection, deleteObject } from "./delete.ts";
import { listObjects } from "./list.ts";
import { patchObject } from "./patch.ts";
import { getObject } from "./read.ts";
import { createOnly } from "./reviews.ts";
import { subresource } from "./subresources.ts";
import { watchObjects } from "./watch.ts";
import { createObject, replaceObject } from "./write.ts";

/** Sends a request for a resource to what answers it. Throws 404 for paths and 405 for methods that are not served. */
export function route(context: Context): Promise<ApiResponse> {
  const { info, served } = context;
  const { method } = context.request;
  const [, name, sub, ...rest] = info.parts;
  if (served.namespaced ? info.namespace === "" && name !== undefined : isInNamespace(context))
    throw notServed();
  if (info.legacyWatch) {
    if (method !== "GET") throw methodNotAllowed();
    return watchObjects(context);
  }
  if (name === undefined) return collection(context, method);
  if (served.facts.createOnly) throw notServed();
  if (sub !== undefined) return subresource(context, rest);
  switch (method) {
    case "GET":
      return getObject(context);
    case "PUT":
      return replaceObject(context);
    case "PATCH":
      return patchObject(context);
    case "DELETE":
      return deleteObject(context);
    default:
      throw methodNotAllowed();
  }
}

/** A cluster-scoped resource on a path with a namespace (its own path aside). */
function isInNamespace({ info, served }: Context): boolean {
  return info.namespace !== "" && served.resource !== "namespaces";
}

function collection(context: Context, method: string): Promise<ApiResponse> {
  const { info, served } = context;
  if (served.facts.createOnly) {
    if (method !== "POST") throw methodNotAllowed();
    if (served.namespaced && info.namespace === "") throw methodNotAllowed();
    return createOnly(context);
  }
  switch (method) {
    case "GET":
      return info.verb === "watch" ? watchObjects(context) : listObjects(context);
    case "POST":
      if (served.namespaced && info.namespace === "") throw methodNotAllowed();
      return createObject(context);
    case "DELETE":
      if (served.facts.noDeleteCollection || (served.namespaced && info.namespace === ""))
        throw methodNotAllowed();
      return deleteCollection(context);
    default:
      throw methodNotAllowed();
  }
}
