import type { ApiRequest } from "@dray/client";

type Asked = Pick<ApiRequest, "headers" | "repeated">;

/** In front of a bearer token among the subprotocols of a WebSocket: browsers can send no other header. */
const tokenPrefix = "base64url.bearer.authorization.k8s.io.";
const protocolsHeader = "sec-websocket-protocol";

/** Whether the client asks for another protocol on its connection (RFC 9110, 7.8), read as loosely as upstream does. */
export function isUpgrade(request: Asked): boolean {
  return valuesOf(request, "connection").some((value) => value.toLowerCase().includes("upgrade"));
}

export function isWebSocket(request: Asked): boolean {
  return isUpgrade(request) && request.headers["upgrade"]?.toLowerCase() === "websocket";
}

/** The subprotocols that a WebSocket is asked for in, in the client's order, without the one that is its token. */
export function subprotocols(request: Asked): readonly string[] {
  return allSubprotocols(request).filter((each) => !each.startsWith(tokenPrefix));
}

/**
 * The bearer token among the subprotocols of a WebSocket. Undefined if there is none; empty, which nobody has, if it
 * cannot be read, is one of several, or stands alone, so that there would be no subprotocol to answer with.
 */
export function subprotocolToken(request: Asked): string | undefined {
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

/** Headers of the first hop alone, and what says who the client is: the next server knows this one instead. */
const notPassedOn = /^(authorization|impersonate-.*|content-length|transfer-encoding|expect)$/;

/** The headers with which a request to upgrade goes on to another server. */
export function passedOn(request: Asked): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = {};
  for (const name of Object.keys(request.headers)) {
    if (!notPassedOn.test(name)) headers[name] = [...valuesOf(request, name)];
  }
  if (request.headers[protocolsHeader] !== undefined) {
    headers[protocolsHeader] = subprotocols(request).join(", ");
  }
  // Node would send a list of one as it is, but takes a list of these for several answers to one question.
  for (const name of ["host", "upgrade"]) {
    if (request.headers[name] !== undefined) headers[name] = request.headers[name];
  }
  return headers;
}

function allSubprotocols(request: Asked): readonly string[] {
  return valuesOf(request, protocolsHeader)
    .flatMap((value) => value.split(","))
    .map((each) => each.trim())
    .filter((each) => each !== "");
}

function valuesOf({ headers, repeated }: Asked, name: string): readonly string[] {
  const first = headers[name];
  return repeated?.[name] ?? (first === undefined ? [] : [first]);
}
