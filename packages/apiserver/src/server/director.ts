import type { ApiResponse } from "@dray/client";
import type { Aggregator } from "../aggregation/aggregator.ts";
import type { Discovery } from "../discovery/documents.ts";
import { notServed } from "../errors/status.ts";
import type { Call } from "../filters/call.ts";
import type { Context } from "../handlers/context.ts";
import type { NonResourcePaths } from "../handlers/non-resource.ts";
import { route } from "../handlers/route.ts";
import { noPage } from "../http/response.ts";
import type { ServedResource } from "../kinds/resources.ts";
import { endsWith } from "../request/ends-with.ts";
import type { RequestInfo } from "../request/info.ts";
import type { LargeWork } from "../request/large-work.ts";
import { isLongRunning } from "../request/long-running.ts";

/** Dependencies of the resource handlers. */
export type HandlerParts = Omit<
  Context,
  "request" | "info" | "user" | "served" | "warnings" | "provenance" | "pause" | "watch"
>;

export interface DirectorParts {
  readonly aggregator: Aggregator;
  readonly discovery: Discovery;
  readonly nonResource: NonResourcePaths;
  readonly servedBy: (info: RequestInfo) => ServedResource | undefined;
  readonly largeWork: LargeWork;
  readonly handlers: HandlerParts;
}

/**
 * Passes a request that has passed the filters on to its handler: another API server, a non-resource path, or
 * a resource. Throws StatusError.
 *
 * Upstream: apiserver/pkg/server/handler.go, director
 */
export async function direct(parts: DirectorParts, call: Call): Promise<ApiResponse> {
  const { request, info, user } = call;
  // The router does not normalize paths.
  if (info.path.startsWith("//")) return noPage();
  const remote = parts.aggregator.answer(request, info, user);
  if (remote !== undefined) return remote;
  if (!info.isResource) return parts.nonResource.response(request, info);
  const served = parts.servedBy(info);
  if (served === undefined) return unserved(parts.discovery, info);
  return route(contextOf(parts, call, served));
}

/** A path in a group that this server does not serve is a 404 page. */
function unserved(discovery: Discovery, info: RequestInfo): ApiResponse {
  const versions = discovery.groups.get(info.group) ?? [];
  const isOwn = versions.some(({ resources }) => resources.some(({ model }) => model === undefined));
  if (isOwn) throw notServed();
  return noPage();
}

function contextOf(
  { handlers, largeWork }: DirectorParts,
  { request, info, user, notes, watch }: Call,
  served: ServedResource,
): Context {
  return {
    ...handlers,
    request: isLongRunning(info) && served.ended ? endsWith(request, served.ended) : request,
    info,
    user,
    served,
    warnings: notes.warnings,
    provenance: handlers.registry.newProvenance(),
    pause: largeWork.pausesOf(request),
    ...(watch === undefined ? {} : { watch }),
  };
}
