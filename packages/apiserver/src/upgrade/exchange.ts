import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import type { Clock, UpgradeResponse } from "@dray/client";
import { Http1Exchange } from "../http/exchange.ts";

/** Paths that support upgrades. On others the Upgrade header is ignored, as in HTTP. */
const upgradable = /\/(attach|exec|portforward|proxy)([/?]|$)/;

/** Watches and logs support WebSocket. */
const streamed = /\/watch\/|[?&]watch\b|\/log([/?]|$)/;

/** Reports whether the path supports the requested upgrade. */
export function mayUpgrade({ url = "", headers }: IncomingMessage): boolean {
  return upgradable.test(url) || (headers.upgrade?.toLowerCase() === "websocket" && streamed.test(url));
}

/** An HTTP/1.1 request with an Upgrade header. The response may be an ordinary one. */
export class UpgradeExchange extends Http1Exchange {
  /** Node does not parse a body: the bytes behind the request may belong to the other protocol. */
  override readonly body = undefined;
  readonly #head: Uint8Array;

  constructor(request: IncomingMessage, response: ServerResponse, head: Uint8Array, clock: Clock) {
    super(request, response, clock);
    this.#head = head;
  }

  override handOver(response: UpgradeResponse): void {
    this.answer.detachSocket(this.socket);
    // The exchange lasts as long as its connection.
    this.socket.once("close", () => this.answer.emit("close"));
    response.accept(this.socket, this.#head);
  }
}

/** Creates an exchange from a request that Node does not parse further. */
export async function upgradeExchange(
  request: IncomingMessage,
  socket: Duplex,
  head: Uint8Array,
  clock: Clock,
): Promise<UpgradeExchange> {
  // The client's address, for the server to which the request may be passed on.
  request.rawHeaders.push("X-Forwarded-For", request.socket.remoteAddress ?? "");
  // Imported lazily: node:http loads all of fetch.
  const { ServerResponse } = await import("node:http");
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  response.assignSocket(socket as TLSSocket);
  response.once("finish", () => socket.end());
  return new UpgradeExchange(request, response, head, clock);
}
