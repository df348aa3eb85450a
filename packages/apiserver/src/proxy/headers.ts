import type { IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http";
import type { ApiRequest } from "@dray/client";

/** Headers that are about one connection. Upstream: net/http/httputil, ReverseProxy (RFC 9110 section 7.6.1) */
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
/** Headers of a request that are about who the client is to this server, or that the new request gets anew. */
const ofClient = ["authorization", "content-length", "expect", "host"];
/** Upstream: k8s.io/apimachinery, pkg/util/proxy/upgradeaware.go, removeCORSHeaders */
const crossOrigin = [
  "access-control-allow-credentials",
  "access-control-allow-headers",
  "access-control-allow-methods",
  "access-control-allow-origin",
];

export type Values = Record<string, string | string[]>;

/** Returns the headers of a request that any other server may get, as Node writes them. */
export function passedHeaders({ headers, repeated = {} }: ApiRequest): Values {
  const all: Values = { ...headers };
  for (const [name, values] of Object.entries(repeated)) all[name] = [...values];
  const passed = without(all, [...ofConnection, ...ofClient], /^impersonate-/);
  for (const [name, value] of Object.entries(passed)) {
    passed[name] = typeof value === "string" ? bytesOf(value) : value.map(bytesOf);
  }
  return passed;
}

/** Returns the headers with which a request is passed on; `uri` is its path as clients of this server write it. */
export function requestHeaders(sent: ApiRequest, uri: string): OutgoingHttpHeaders {
  const passed = passedHeaders(sent);
  const { host } = sent.headers;
  if (host !== undefined) passed["host"] = bytesOf(host);
  passed["x-forwarded-uri"] = bytesOf(uri);
  const forwardedFor = [passed["x-forwarded-for"] ?? [], sent.remoteAddress ?? []].flat();
  if (forwardedFor.length > 0) passed["x-forwarded-for"] = forwardedFor.join(", ");
  return passed;
}

/** Node writes a header as Latin-1; what clients have sent is read as UTF-8. */
export const bytesOf = (value: string): string => Buffer.from(value).toString("latin1");

/** Returns the headers of an answer that its client gets. */
export function responseHeaders(received: NodeJS.Dict<string[]>): Record<string, string[]> {
  const passed = withoutConnection(received, crossOrigin);
  // Every answer has the one of this server; upstream adds that of the other server to it.
  passed["cache-control"] = ["no-cache, private", ...(passed["cache-control"] ?? [])];
  return passed;
}

/** Returns the headers of an answer without those of its connection, and without those of these names. */
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

/** Whether an answer is a page whose links are rewritten. */
export function isHtml(headers: IncomingHttpHeaders): boolean {
  const [type = ""] = headers["content-type"]?.split(";", 1) ?? [];
  return type.trim() === "text/html";
}
