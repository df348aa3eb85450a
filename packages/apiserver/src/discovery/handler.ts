import { createHash } from "node:crypto";
import type { ApiRequest, ApiResponse } from "@dray/client";
import { accepted } from "../encoding/accepted.ts";
import { encodeJSON } from "../encoding/codec.ts";
import { encoded } from "../encoding/representation.ts";
import { methodNotAllowed, notServed } from "../errors/status.ts";
import { bodyResponse, noPage } from "../http/response.ts";
import { acceptClauses, checkTypes, noForms } from "../request/accept.ts";
import { encodeYAML } from "../yaml/emit.ts";
import type { Discovery } from "./documents.ts";

const aggregatedForm = "g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const aggregatedTypes = ["application/json", "application/yaml"] as const;
type AggregatedType = (typeof aggregatedTypes)[number];

/**
 * Handles `/api`, `/apis`, `/apis/G`, `/api/v1`, `/apis/G/V`; undefined for other paths. `address`: where
 * clients reach the server. Throws 404, 405 and 406.
 */
export function discoveryResponse(
  request: ApiRequest,
  path: string,
  discovery: Discovery,
  address: string,
): ApiResponse | undefined {
  if (path === "/apis" || path === "/apis/") {
    return root(request, discovery.aggregated(false), () => discovery.groupList());
  }
  const parts = path.replace(/^\/|\/+$/g, "").split("/");
  const [api, group = "", version = ""] = parts;
  if (api === "api" && parts.length === 1) {
    if (request.method !== "GET") throw methodNotAllowed();
    checkTypes(request);
    return root(request, discovery.aggregated(true), () => discovery.versions(address));
  }
  if (api === "api" && parts.length === 2) return routed(request, discovery.resourceList("", group));
  if (api !== "apis" || parts.length === 1 || parts.length > 3) return undefined;
  const found = discovery.group(group);
  if (found === undefined) return noPage();
  if (parts.length === 2) {
    // The delegated router accepts the path with more slashes, too.
    return path.endsWith("//") ? routed(request, found) : document(request, found);
  }
  const versions = discovery.groups.get(group) ?? [];
  const list = discovery.resourceList(group, version);
  const custom = versions.every(({ resources }) => resources.every(({ model }) => model !== undefined));
  if (!custom) return routed(request, list);
  return list === undefined ? noPage() : document(request, list);
}

/** Returns a root document: aggregated if the client accepts that, otherwise the old list. */
function root(request: ApiRequest, aggregated: object, plain: () => object): ApiResponse {
  const mediaType = aggregatedWanted(request.headers["accept"]);
  if (mediaType === undefined) return document(request, plain());
  const json = `${encodeJSON(aggregated)}\n`;
  const etag = `"${createHash("sha256").update(json).digest("hex").toUpperCase()}"`;
  const caching = { "cache-control": "public", etag, vary: "Accept" };
  if (request.headers["if-none-match"] === etag) return bodyResponse(304, caching, () => "");
  const headers = { "content-type": `${mediaType};${aggregatedForm}`, ...caching };
  const text = (): string => (mediaType === "application/json" ? json : encodeYAML(aggregated));
  return bodyResponse(200, headers, text, aggregated);
}

/**
 * Returns the media type of the first Accept clause that requests aggregated discovery; other clauses are
 * skipped.
 */
function aggregatedWanted(header: string | undefined): AggregatedType | undefined {
  for (const { type, parameters } of acceptClauses(header)) {
    const form = ["g", "v", "as"].map((name) => `${name}=${parameters.get(name)}`).join(";");
    if (form !== aggregatedForm || parameters.get("sv")) continue;
    const stream = parameters.get("stream") ?? "";
    const fits = (one: AggregatedType): boolean =>
      (type === one || type === "*/*" || type === "application/*") &&
      (stream === "" || (stream === "watch" && one === "application/json"));
    const found = aggregatedTypes.find(fits);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Paths of the router check method and media types. */
function routed(request: ApiRequest, object: object | undefined): ApiResponse {
  if (object === undefined) throw notServed();
  if (request.method !== "GET") throw methodNotAllowed();
  checkTypes(request);
  return document(request, object);
}

/** The list of groups, each group, and the versions of custom resources ignore the method. */
function document(request: ApiRequest, object: object): ApiResponse {
  return encoded(200, object, accepted({ request }, noForms));
}
