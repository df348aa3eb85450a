import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { WebSocket } from "ws";

/** Headers of an upgrade to WebSocket. Names in lower case. */
export interface WebSocketRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
}

/** A request to upgrade to WebSocket, and its connection. */
export interface WebSocketUpgrade {
  readonly request: WebSocketRequest;
  readonly socket: Duplex;
  /** Bytes of the connection after the request. */
  readonly head: Uint8Array;
}

/** Maximum length of a client's message, in bytes (that of Go's x/net/websocket). */
const maxMessageBytes = 32 * 1024 * 1024;

/** Returns the subprotocols of a request, in its order; an empty one if it offers none. */
export function offeredProtocols({ headers }: WebSocketRequest): readonly string[] {
  const names = (headers["sec-websocket-protocol"] ?? "").split(",").map((each) => each.trim());
  const offered = names.filter((each) => each !== "");
  return offered.length === 0 ? [""] : offered;
}

/**
 * Accepts a request to upgrade to WebSocket (RFC 6455), with the selected subprotocol, and takes over its
 * connection. An invalid request is answered with 400 or 405, its connection ends, and the result is
 * undefined.
 */
export async function acceptWebSocket(
  { request, socket, head }: WebSocketUpgrade,
  protocol: string,
): Promise<WebSocket | undefined> {
  // Loaded with the first connection, to keep the start fast.
  const { WebSocketServer } = await import("ws");
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: maxMessageBytes,
  });
  // The library rejects protocols with a slash in their name, as that of port-forward: the header is hidden
  // from it.
  const { "sec-websocket-protocol": _, ...headers } = request.headers;
  if (protocol !== "") server.on("headers", (lines) => lines.push(`Sec-WebSocket-Protocol: ${protocol}`));
  const accepted = Promise.withResolvers<WebSocket | undefined>();
  if (socket.destroyed) return undefined;
  socket.once("close", () => accepted.resolve(undefined));
  server.handleUpgrade(
    { method: request.method, headers } as IncomingMessage,
    socket,
    Buffer.from(head),
    accepted.resolve,
  );
  const ws = await accepted.promise;
  // An error of a connection also ends it.
  ws?.on("error", () => {});
  return ws;
}

/**
 * Takes over a connection as `acceptWebSocket` does, for a protocol whose messages are parts of one byte
 * stream. Returns undefined after an invalid request.
 */
export async function webSocketStream(
  upgrade: WebSocketUpgrade,
  protocol: string,
): Promise<Duplex | undefined> {
  const ws = await acceptWebSocket(upgrade, protocol);
  if (ws === undefined) return undefined;
  const { createWebSocketStream } = await import("ws");
  return createWebSocketStream(ws);
}

/** Sends messages to a client that sends none. */
export interface WebSocketMessages {
  /** Sends text or bytes; resolves when the client can receive more. Rejects if it has disconnected. */
  send(message: string | Uint8Array): Promise<void>;
  close(): void;
  /** Resolves when the connection has ended, whichever side ended it. */
  readonly closed: Promise<void>;
}

/** Takes over a connection as `acceptWebSocket` does, to send messages. Ignores input of the client. */
export async function webSocketMessages(
  upgrade: WebSocketUpgrade,
  protocol: string,
): Promise<WebSocketMessages | undefined> {
  const ws = await acceptWebSocket(upgrade, protocol);
  if (ws === undefined) return undefined;
  return {
    send: (message) =>
      new Promise((resolve, reject) => ws.send(message, (error) => (error ? reject(error) : resolve()))),
    close: () => ws.close(1000),
    closed: new Promise((resolve) => ws.once("close", () => resolve())),
  };
}

/** Refuses a well-formed request, as x/net/websocket does. */
export async function refuseWebSocket(
  socket: Duplex,
  status: "400 Bad Request" | "403 Forbidden" = "403 Forbidden",
): Promise<void> {
  socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
  socket.resume();
  if (!socket.destroyed) await once(socket, "close");
}
