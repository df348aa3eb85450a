import { createHash } from "node:crypto";
import type { ApiRequest, ApiResponse } from "@dray/client";
import { encodeJSON } from "../codec.ts";
import { accepted } from "../handlers/context.ts";
import { encoded } from "../representation.ts";
import { type Accepted, acceptClauses, checkTypes, noForms } from "../request/accept.ts";
import { bodyResponse, methodNotAllowed, notServed, textResponse } from "../response.ts";
import type { Discovery } from "./documents.ts";

const aggregatedType = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/** `/api`, `/apis`, `/apis/G`, `/api/v1`, `/apis/G/V`; undefined for other paths. */
export function discoveryResponse(
  request: ApiRequest,
  path: string,
  discovery: Discovery,
): ApiResponse | undefined {
  const parts = path.replace(/^\/|\/$/g, "").split("/");
  const [api, group, version] = parts;
  if (api === "api" && parts.length <= 2) {
    if (parts.length === 1) return root(request, discovery, true);
    return document(request, discovery.resourceList("", group!));
  }
  if (api === "apis" && parts.length <= 3) {
    if (parts.length === 1) return root(request, discovery, false);
    if (!discovery.groups.has(group!)) return textResponse(404, "404 page not found\n");
    if (parts.length === 2) return document(request, discovery.group(group!), true);
    return document(request, discovery.resourceList(group!, version!));
  }
  return undefined;
}

/** The two roots: all at once where the client accepts that, else the old list. PUT is answered like GET. */
function root(request: ApiRequest, discovery: Discovery, core: boolean): ApiResponse {
  const mediaType = wantsAggregated(request.headers["accept"]);
  if (mediaType === undefined) {
    return encoded(200, core ? discovery.versions() : discovery.groupList(), acceptedPlain(request, !core));
  }
  const object = discovery.aggregated(core);
  const text = `${encodeJSON(object)}\n`;
  const etag = `"${createHash("sha256").update(text).digest("hex").toUpperCase()}"`;
  const headers = {
    "content-type": aggregatedType,
    "cache-control": "public",
    etag,
    vary: "Accept",
  };
  if (request.headers["if-none-match"] === etag) {
    return bodyResponse(304, { etag, vary: "Accept", "cache-control": "public" }, () => "");
  }
  return bodyResponse(200, headers, () => text, object);
}

/** The aggregated form is taken if it is asked for before plain JSON. */
function wantsAggregated(header: string | undefined): string | undefined {
  for (const { type, parameters } of acceptClauses(header)) {
    if (type !== "application/json") {
      if (type === "*/*") return undefined;
      continue;
    }
    if (parameters.get("as") === undefined) return undefined;
    const right =
      parameters.get("g") === "apidiscovery.k8s.io" &&
      parameters.get("v") === "v2" &&
      parameters.get("as") === "APIGroupDiscoveryList";
    if (right) return aggregatedType;
  }
  return undefined;
}

/** The list of groups, and each group, are the aggregator's, before which there is no router. */
function acceptedPlain(request: ApiRequest, unrouted = false): Accepted {
  if (!unrouted) checkTypes(request);
  return accepted({ request }, noForms);
}

function document(request: ApiRequest, object: object | undefined, unrouted = false): ApiResponse {
  if (object === undefined) throw notServed();
  if (request.method !== "GET") throw methodNotAllowed();
  return encoded(200, object, acceptedPlain(request, unrouted));
}
