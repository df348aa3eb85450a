import type { ApiResponse } from "@dray/client";
import { methodNotAllowed, notServed } from "../response.ts";
import { bindPod } from "./binding.ts";
import type { Context } from "./context.ts";
import { evictPod } from "./eviction.ts";
import { finalizeNamespace } from "./finalize.ts";
import { podLog } from "./log.ts";
import { patchObject } from "./patch.ts";
import { getObject } from "./read.ts";
import { scale } from "./scale.ts";
import { createToken } from "./token.ts";
import { replaceObject } from "./write.ts";

type Handler = (context: Context) => Promise<ApiResponse>;

/** Subresources that are no view of the object itself, by `resource/subresource`. */
const handlers: Readonly<Record<string, Handler>> = {
  "pods/binding": bindPod,
  "pods/eviction": evictPod,
  "pods/log": podLog,
  "namespaces/finalize": finalizeNamespace,
  "serviceaccounts/token": createToken,
};

const methodVerbs: Readonly<Record<string, string>> = {
  GET: "get",
  POST: "create",
  PUT: "update",
  PATCH: "patch",
};

/** A request for a part of an object: `status`, `scale`, or one with a handler of its own. */
export function subresource(context: Context, rest: readonly string[]): Promise<ApiResponse> {
  const { info, served } = context;
  const facts = served.subresources.get(info.subresource);
  if (facts === undefined || rest.length > 0) throw notServed();
  const verb = methodVerbs[context.request.method];
  if (verb === undefined || !facts.verbs.includes(verb)) throw methodNotAllowed();
  const own = handlers[`${served.resource}/${info.subresource}`];
  if (own) return own(context);
  if (info.subresource === "scale") return scale(context);
  switch (verb) {
    case "get":
      return getObject(context);
    case "update":
      return replaceObject(context);
    default:
      return patchObject(context);
  }
}
