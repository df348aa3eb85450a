import { type IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { acceptedProtocolsHeader, handshake } from "@dray/streams";

/** A connection on which the client requests another protocol. */
export interface Connection {
  readonly socket: Socket;
  /** Bytes that the client has sent after its request. */
  readonly head: Buffer;
}

/** Refuses an upgrade, and ends the connection. */
export function refusalTo(request: IncomingMessage, { socket }: Connection): ServerResponse {
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  response.assignSocket(socket);
  response.once("finish", () => socket.destroySoon());
  return response;
}

export function isWebSocket({ headers }: IncomingMessage): boolean {
  return headers.upgrade?.toLowerCase() === "websocket";
}

/**
 * Upgrades to a protocol over SPDY/3.1 with 101, or refuses, as kubelets do. Returns the protocol, or
 * undefined after a refusal.
 */
export function upgradeToSpdy(
  request: IncomingMessage,
  response: ServerResponse,
  { socket }: Connection,
  supported: readonly string[],
): string | undefined {
  const text = { "content-type": "text/plain; charset=utf-8" };
  const wanted = request.headers["x-stream-protocol-version"];
  const chosen = handshake(Array.isArray(wanted) ? wanted.join() : wanted, supported);
  if (chosen.protocol === undefined) {
    response.setHeader(acceptedProtocolsHeader, [...chosen.accepted]);
    response.writeHead(chosen.status, text).end(`${chosen.message}\n`);
    return undefined;
  }
  if (request.headers.upgrade?.toLowerCase().includes("spdy/3.1") !== true) {
    response.writeHead(400, text).end("unable to upgrade: missing upgrade headers in request\n");
    return undefined;
  }
  response.detachSocket(socket);
  socket.write(
    [
      "HTTP/1.1 101 Switching Protocols",
      "Connection: Upgrade",
      "Upgrade: SPDY/3.1",
      `X-Stream-Protocol-Version: ${chosen.protocol}`,
      "\r\n",
    ].join("\r\n"),
  );
  return chosen.protocol;
}
