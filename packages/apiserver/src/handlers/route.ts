import { pathSegment, quoted, StatusError } from "@dray/api";
import type { ApiResponse } from "@dray/client";
import { methodNotAllowed, notServed } from "../errors/status.ts";
import type { ServedResource } from "../kinds/resources.ts";
import { checkTypes } from "../request/accept.ts";
import { componentStatuses } from "./component-status.ts";
import type { Context } from "./context.ts";
import { deleteCollection, deleteObject } from "./delete.ts";
import { listObjects } from "./list.ts";
import { patchObject } from "./patch.ts";
import { getObject } from "./read.ts";
import { resourceMetrics } from "./resource-metrics.ts";
import { createOnly } from "./reviews.ts";
import { schemalessHandler } from "./schemaless-route.ts";
import { subresource } from "./subresources.ts";
import { watchObjects } from "./watch.ts";
import { createObject, replaceObject } from "./write.ts";

type Handler = (context: Context) => Promise<ApiResponse>;

/** The handler of each method on one path, and its verb in discovery. */
type Methods = Readonly<Record<string, readonly [verb: string, handler: Handler]>>;

const ofCollection: Methods = {
  GET: ["list", listObjects],
  POST: ["create", createObject],
  DELETE: ["deletecollection", deleteCollection],
};
/** The objects of all namespaces can only be listed. */
const ofAllNamespaces: Methods = { GET: ["list", listObjects] };
const ofObject: Methods = {
  GET: ["get", getObject],
  PUT: ["update", replaceObject],
  PATCH: ["patch", patchObject],
  DELETE: ["delete", deleteObject],
};
const ofWatch: Methods = { GET: ["watch", watchObjects] };

/** Resources that are not stored, by group. */
const unstored: Readonly<Record<string, Handler>> = {
  "/componentstatuses": componentStatuses,
  "metrics.k8s.io/nodes": resourceMetrics,
  "metrics.k8s.io/pods": resourceMetrics,
};

/**
 * Passes a resource request on to its handler. Throws 404 for paths and 405 for methods that are not served;
 * only served paths warn that their version is deprecated.
 */
export function route(context: Context): Promise<ApiResponse> {
  const { schemaless } = context.served.facts;
  const handler = schemaless ? schemalessHandler(context) : handlerOf(context);
  if (!schemaless) checkAccept(context);
  checkNames(context);
  const { deprecation } = context.served;
  if (deprecation !== undefined) context.warnings.add(deprecation);
  return handler(context);
}

/**
 * Rejects names that are invalid as storage keys before any lookup (by upstream's rules for object keys and
 * etcd keys). Throws 400.
 */
function checkNames({ info, served, request }: Context): void {
  if (served.facts.createOnly) return;
  const { namespace, inNamespace } = info;
  const [, name = ""] = info.parts;
  const problems = name === "" ? [] : pathSegment(name);
  if (problems.length > 0) {
    const message = `Name parameter invalid: ${quoted(name)}: ${problems.join(";")}`;
    throw StatusError.of("BadRequest", message);
  }
  if (!inNamespace || (namespace !== "." && namespace !== "..")) return;
  if (request.method === "POST" && name === "") {
    const message = `invalid resource name ${quoted(namespace)}: [may not be '${namespace}']`;
    throw StatusError.of("BadRequest", message);
  }
  const resource = served.facts.schemaless ? `${served.group}/${served.resource}` : served.resource;
  const key = ["", resource, namespace, ...(name === "" ? [] : [name])].join("/");
  // Upstream responds with 500, though it is an error of the client.
  throw StatusError.of("BadRequest", `invalid key: ${quoted(key)}`);
}

/** Connections return whatever the other end sends, in any media type. */
const anyType = new Set(["attach", "exec", "portforward", "proxy"]);

function checkAccept({ request, info }: Context): void {
  if (anyType.has(info.subresource)) return;
  const streams = request.method === "GET" && info.parts.length === 1;
  checkTypes(request, streams, info.subresource === "log" ? ["text/plain"] : []);
}

function handlerOf(context: Context): Handler {
  const { info, served } = context;
  const { method } = context.request;
  const [, name, sub, ...rest] = info.parts;
  const scoped = served.namespaced ? info.inNamespace || name === undefined : !info.inNamespace;
  if (!scoped || info.verb === "proxy") throw notServed();
  if (info.legacyWatch && sub === undefined) return methodHandler(ofWatch, served, method);
  if (info.legacyWatch) throw notServed();
  if (name === undefined) {
    const own = methodHandler(
      served.namespaced && !info.inNamespace ? ofAllNamespaces : ofCollection,
      served,
      method,
    );
    if (served.facts.createOnly) return createOnly;
    if (method === "GET" && info.verb === "watch") return methodHandler(ofWatch, served, method);
    return unstored[`${served.group}/${served.resource}`] ?? own;
  }
  if (sub !== undefined) return subresource(context, sub, rest);
  const own = methodHandler(ofObject, served, method);
  return unstored[`${served.group}/${served.resource}`] ?? own;
}

/**
 * Returns the handler of a method. A path without any served method is not found (404); otherwise the method
 * is not allowed (405).
 */
function methodHandler(methods: Methods, { verbs }: ServedResource, method: string): Handler {
  if (!Object.values(methods).some(([verb]) => verbs.includes(verb))) throw notServed();
  const found = Object.hasOwn(methods, method) ? methods[method] : undefined;
  if (found === undefined || !verbs.includes(found[0])) throw methodNotAllowed();
  return found[1];
}
