import { quoted, StatusError } from "@dray/api";
import type { ApiResponse } from "@dray/client";
import { notFound, qualified } from "../errors/status.ts";
import { noPage } from "../http/response.ts";
import type { Context } from "./context.ts";
import { deleteCollection, deleteObject } from "./delete.ts";
import { listObjects } from "./list.ts";
import { patchObject } from "./patch.ts";
import { getObject } from "./read.ts";
import { scale } from "./scale.ts";
import { watchObjects } from "./watch.ts";
import { createObject, replaceObject } from "./write.ts";

type Handler = (context: Context) => Promise<ApiResponse>;

const handlers: Readonly<Record<string, Handler>> = {
  get: getObject,
  list: listObjects,
  watch: watchObjects,
  create: createObject,
  update: replaceObject,
  patch: patchObject,
  delete: deleteObject,
  deletecollection: deleteCollection,
};
const ofPart: Readonly<Record<string, Handler>> = {
  get: getObject,
  update: replaceObject,
  patch: patchObject,
};

/**
 * Returns the handler for a resource that is not built in. Upstream looks only at its verb, while the paths
 * of built-in resources are registered individually. Throws 404 and 405 with upstream's messages.
 */
export function schemalessHandler({ info, served }: Context): Handler {
  const everywhere = info.verb === "list" || info.verb === "watch";
  const scoped = served.namespaced ? info.inNamespace || everywhere : !info.inNamespace;
  if (!scoped) return () => Promise.resolve(noPage());
  const { subresource, verb } = info;
  if (subresource !== "" && !served.subresources.has(subresource)) throw notFound(served, info.name);
  const handler =
    subresource === "" ? handlers[verb] : subresource === "scale" && ofPart[verb] ? scale : ofPart[verb];
  if (handler === undefined) throw notSupported(served, verb);
  if (info.name === "" && (verb === "update" || verb === "patch")) {
    throw StatusError.of("BadRequest", "name must be provided");
  }
  return handler;
}

function notSupported({ group, resource }: { group: string; resource: string }, verb: string): StatusError {
  return StatusError.of(
    "MethodNotAllowed",
    `${verb} is not supported on resources of kind ${quoted(qualified({ group, resource }))}`,
    { group, kind: resource },
  );
}
