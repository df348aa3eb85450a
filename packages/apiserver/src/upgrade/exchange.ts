import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import type { UpgradeResponse } from "@dray/client";
import { Http1Exchange } from "../http/exchange.ts";

/** Paths that may be answered with another protocol. Elsewhere the wish for one is passed over, as HTTP has it. */
const upgradable = /\/(attach|exec|portforward|proxy)([/?]|$)/;

/** Watches and logs may be had over WebSocket. */
const streamed = /\/watch\/|[?&]watch\b|\/log([/?]|$)/;

/** Whether a request that asks for another protocol may get it. */
export function mayUpgrade({ url = "", headers }: IncomingMessage): boolean {
  return upgradable.test(url) || (headers.upgrade?.toLowerCase() === "websocket" && streamed.test(url));
}

/** A request over HTTP/1.1 that asks for another protocol. It may also be answered without one. */
export class UpgradeExchange extends Http1Exchange {
  /** Node reads none: what follows the request may be in the other protocol. */
  override readonly body = undefined;
  readonly #head: Uint8Array;

  constructor(request: IncomingMessage, response: ServerResponse, head: Uint8Array) {
    super(request, response);
    this.#head = head;
  }

  override takeOver(response: UpgradeResponse): void {
    this.answer.detachSocket(this.socket);
    // The exchange lasts as long as its connection.
    this.socket.once("close", () => this.answer.emit("close"));
    response.accept(this.socket, this.#head);
  }
}

/** Makes an exchange of what Node has given up to read any further. */
export async function upgradeExchange(
  request: IncomingMessage,
  socket: Duplex,
  head: Uint8Array,
): Promise<UpgradeExchange> {
  // For the server to which it may be passed on: who has asked.
  request.rawHeaders.push("X-Forwarded-For", request.socket.remoteAddress ?? "");
  // Loaded here: node:http brings all of fetch with it.
  const { ServerResponse } = await import("node:http");
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  response.assignSocket(socket as TLSSocket);
  response.once("finish", () => socket.end());
  return new UpgradeExchange(request, response, head);
}
