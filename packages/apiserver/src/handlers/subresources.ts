import type { ApiResponse } from "@dray/client";
import { methodNotAllowed, notServed } from "../errors/status.ts";
import { bindPod } from "./binding.ts";
import { streamFromPod } from "./connect.ts";
import type { Context } from "./context.ts";
import { evictPod } from "./eviction.ts";
import { finalizeNamespace } from "./finalize.ts";
import { podLog } from "./log.ts";
import { patchObject } from "./patch.ts";
import { proxy } from "./proxy.ts";
import { getObject } from "./read.ts";
import { scale } from "./scale.ts";
import { createToken } from "./token.ts";
import { replaceObject } from "./write.ts";

type Handler = (context: Context, rest: readonly string[]) => Promise<ApiResponse>;

/** Subresources that are not a view of the object itself, by `resource/subresource`. */
const handlers: Readonly<Record<string, Handler>> = {
  "pods/attach": streamFromPod,
  "pods/binding": bindPod,
  "pods/eviction": evictPod,
  "pods/exec": streamFromPod,
  "pods/log": podLog,
  "pods/portforward": streamFromPod,
  "pods/proxy": proxy,
  "services/proxy": proxy,
  "nodes/proxy": proxy,
  "namespaces/finalize": finalizeNamespace,
  "serviceaccounts/token": createToken,
};

/** Methods by the verbs of discovery. */
const methodVerbs: Readonly<Record<string, string>> = {
  GET: "get",
  POST: "create",
  PUT: "update",
  PATCH: "patch",
};
/** A proxy passes on more methods than it has verbs. */
const proxyVerbs: Readonly<Record<string, string>> = {
  ...methodVerbs,
  DELETE: "delete",
  HEAD: "get",
  OPTIONS: "get",
};

/**
 * Returns the handler of a subresource: `status`, `scale`, or one with a handler of its own. `rest`: the
 * remaining path segments. Throws 404 and 405.
 */
export function subresource(
  { info, served, request }: Context,
  name: string,
  rest: readonly string[],
): (context: Context) => Promise<ApiResponse> {
  const facts = served.subresources.get(name);
  const proxies = name === "proxy";
  if (facts === undefined || (rest.length > 0 && !proxies)) throw notServed();
  const verb = (proxies ? proxyVerbs : methodVerbs)[request.method];
  if (verb === undefined || !facts.verbs.includes(verb)) throw methodNotAllowed();
  const own = handlers[`${served.resource}/${name}`];
  if (own) return (context) => own(context, rest);
  if (name === "scale") return scale;
  if (info.verb === "get") return getObject;
  return request.method === "PUT" ? replaceObject : patchObject;
}
