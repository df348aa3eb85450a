import type { IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http";
import type { ApiRequest } from "@dray/client";

/** Hop-by-hop headers. Upstream: net/http/httputil, ReverseProxy (RFC 9110 section 7.6.1) */
const ofConnection = [
  "connection",
  "proxy-connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
];
/** Request headers that authenticate the client to this server, or that are set anew for the next request. */
const ofClient = ["authorization", "content-length", "expect", "host"];
/** Upstream: k8s.io/apimachinery, pkg/util/proxy/upgradeaware.go, removeCORSHeaders */
const crossOrigin = [
  "access-control-allow-credentials",
  "access-control-allow-headers",
  "access-control-allow-methods",
  "access-control-allow-origin",
];

export type Values = Record<string, string | string[]>;

/** Returns the headers of a request that may be passed on to any server, in Node's form. */
export function passedHeaders({ headers, repeated = {} }: ApiRequest): Values {
  const all: Values = { ...headers };
  for (const [name, values] of Object.entries(repeated)) all[name] = [...values];
  const passed = without(all, [...ofConnection, ...ofClient], /^impersonate-/);
  for (const [name, value] of Object.entries(passed)) {
    passed[name] = typeof value === "string" ? bytesOf(value) : value.map(bytesOf);
  }
  return passed;
}

/** Returns the headers of the passed on request; `uri` is its path on this server. */
export function requestHeaders(sent: ApiRequest, uri: string): OutgoingHttpHeaders {
  const passed = passedHeaders(sent);
  const { host } = sent.headers;
  if (host !== undefined) passed["host"] = bytesOf(host);
  passed["x-forwarded-uri"] = bytesOf(uri);
  const forwardedFor = [passed["x-forwarded-for"] ?? [], sent.remoteAddress ?? []].flat();
  if (forwardedFor.length > 0) passed["x-forwarded-for"] = forwardedFor.join(", ");
  return passed;
}

/** Node encodes a header as Latin-1; headers of clients are decoded as UTF-8. */
export const bytesOf = (value: string): string => Buffer.from(value).toString("latin1");

/** Returns the headers of a response for the client. */
export function responseHeaders(received: NodeJS.Dict<string[]>): Record<string, string[]> {
  const passed = withoutConnection(received, crossOrigin);
  // Every response has this server's header; upstream adds it to that of the other server.
  passed["cache-control"] = ["no-cache, private", ...(passed["cache-control"] ?? [])];
  return passed;
}

/** Returns the headers of a response without hop-by-hop headers and without these names. */
export function withoutConnection(
  received: NodeJS.Dict<string[]>,
  names: readonly string[],
): Record<string, string[]> {
  return without(received as Record<string, string[]>, [...ofConnection, ...names]);
}

/** Removes headers by name, and those that are named in `Connection`. */
function without<T extends string | readonly string[]>(
  headers: Readonly<Record<string, T>>,
  names: readonly string[],
  pattern?: RegExp,
): Record<string, T> {
  const listed = [headers["connection"] ?? []].flat().flatMap((value) => value.split(","));
  const removed = new Set([...names, ...listed.map((name) => name.trim().toLowerCase())]);
  const kept = Object.entries(headers).filter(([name]) => !removed.has(name) && !pattern?.test(name));
  return Object.fromEntries(kept) as Record<string, T>;
}

/** Reports whether a response is a page whose links are rewritten. */
export function isHtml(headers: IncomingHttpHeaders): boolean {
  const [type = ""] = headers["content-type"]?.split(";", 1) ?? [];
  return type.trim() === "text/html";
}
