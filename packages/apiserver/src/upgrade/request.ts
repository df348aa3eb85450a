import type { ApiRequest } from "@dray/client";

type RequestHeaders = Pick<ApiRequest, "headers" | "repeated">;

/** Prefix of a bearer token among the subprotocols of a WebSocket: browsers cannot set headers. */
const tokenPrefix = "base64url.bearer.authorization.k8s.io.";
const protocolsHeader = "sec-websocket-protocol";

/** Reports whether the client requests an upgrade (RFC 9110, 7.8), parsed as leniently as upstream. */
export function isUpgrade(request: RequestHeaders): boolean {
  return valuesOf(request, "connection").some((value) => value.toLowerCase().includes("upgrade"));
}

export function isWebSocket(request: RequestHeaders): boolean {
  return isUpgrade(request) && request.headers["upgrade"]?.toLowerCase() === "websocket";
}

/** Returns the requested subprotocols of a WebSocket, in the client's order, without the token. */
export function subprotocols(request: RequestHeaders): readonly string[] {
  return allSubprotocols(request).filter((each) => !each.startsWith(tokenPrefix));
}

/**
 * Returns the bearer token among the subprotocols of a WebSocket. Undefined if absent; empty, which is never
 * a valid token, if it is malformed, one of several, or the only subprotocol, which leaves no subprotocol to
 * select.
 */
export function subprotocolToken(request: RequestHeaders): string | undefined {
  if (request.headers[protocolsHeader] === undefined || !isWebSocket(request)) return undefined;
  const all = allSubprotocols(request);
  const tokens = all.filter((each) => each.startsWith(tokenPrefix));
  if (tokens.length === 0) return undefined;
  const encoded = tokens[0]!.slice(tokenPrefix.length);
  if (tokens.length > 1 || tokens.length === all.length || !/^[\w-]*$/.test(encoded)) return "";
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.from(encoded, "base64url"));
  } catch {
    return "";
  }
}

/** Hop-by-hop headers, and headers that authenticate the client to this server. */
const droppedHeaders = /^(authorization|impersonate-.*|content-length|transfer-encoding|expect)$/;

/** Returns the headers of an upgrade request that is passed on to another server. */
export function forwardedHeaders(request: RequestHeaders): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = {};
  for (const name of Object.keys(request.headers)) {
    if (!droppedHeaders.test(name)) headers[name] = [...valuesOf(request, name)];
  }
  if (request.headers[protocolsHeader] !== undefined) {
    headers[protocolsHeader] = subprotocols(request).join(", ");
  }
  // Node accepts an array of one value, but several values of these headers would be a duplicate header.
  for (const name of ["host", "upgrade"]) {
    if (request.headers[name] !== undefined) headers[name] = request.headers[name];
  }
  return headers;
}

function allSubprotocols(request: RequestHeaders): readonly string[] {
  return valuesOf(request, protocolsHeader)
    .flatMap((value) => value.split(","))
    .map((each) => each.trim())
    .filter((each) => each !== "");
}

function valuesOf({ headers, repeated }: RequestHeaders, name: string): readonly string[] {
  const first = headers[name];
  return repeated?.[name] ?? (first === undefined ? [] : [first]);
}
