import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import type { Duplex } from "node:stream";
import { quoted } from "@dray/api";
import type { ApiResponse } from "@dray/client";
import { serverError } from "../errors/status.ts";
import { dialError, type Target, tlsOf } from "../proxy/kubelet.ts";

/** The response of another server to an upgrade request. */
export type BackendResponse =
  | {
      readonly upgraded: true;
      readonly response: IncomingMessage;
      readonly socket: Duplex;
      /** Bytes that followed the response headers. */
      readonly head: Buffer;
    }
  | { readonly upgraded: false; readonly response: IncomingMessage };

/** There was no response to an upgrade request; the message is Go's. */
export class NoResponse extends Error {
  override readonly name = "NoResponse";
  /** The connection was established. */
  readonly connected: boolean;

  constructor(message: string, connected: boolean) {
    super(message);
    this.connected = connected;
  }
}

/** A request for another protocol. */
export interface UpgradeRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly signal: AbortSignal;
}

/** Sends an upgrade request on a new connection to another server. Rejects with `NoResponse`. */
export async function requestUpgrade(
  { scheme, host, port, client, tls = {} }: Target,
  { method, path, headers, signal }: UpgradeRequest,
): Promise<BackendResponse> {
  const secure = scheme === "https";
  const { request } = await (secure ? import("node:https") : import("node:http"));
  const portNumber = port || (secure ? "443" : "80");
  return new Promise((resolve, reject) => {
    const call = request({
      host,
      port: portNumber,
      method,
      path,
      headers: { ...headers, connection: "Upgrade" },
      signal,
      agent: false,
      // The Host header is the client's; the certificate is that of the server.
      ...(secure ? { ...tlsOf(client ?? {}), servername: isIP(host) === 0 ? host : "", ...tls } : {}),
    });
    let connected = false;
    // Go's dial includes the handshake.
    call.once("socket", (socket) =>
      socket.once(secure ? "secureConnect" : "connect", () => (connected = true)),
    );
    call.on("error", (error: NodeJS.ErrnoException & { rawPacket?: Buffer }) => {
      reject(new NoResponse(connected ? abortReason(error) : dialError(error, host, portNumber), connected));
    });
    call.once("upgrade", (response, socket, head) => {
      socket.on("error", () => {});
      resolve({ upgraded: true, response, socket, head });
    });
    call.once("response", (response) => {
      response.on("error", () => {});
      resolve({ upgraded: false, response });
    });
    call.end();
  });
}

/** Returns why a response ended early. */
function abortReason({
  code = "",
  message,
  rawPacket,
}: NodeJS.ErrnoException & { rawPacket?: Buffer }): string {
  if (code === "ECONNRESET" || code === "EPIPE") return "unexpected EOF";
  if (!code.startsWith("HPE_") || rawPacket === undefined) return message;
  const [line = ""] = rawPacket.toString("latin1").split(/\r?\n/, 1);
  return `malformed HTTP response ${quoted(line)}`;
}

/** Like `requestUpgrade`, for a response that is passed through. Rejects with 500. */
export async function proxyUpgrade(target: Target, request: UpgradeRequest): Promise<BackendResponse> {
  try {
    return await requestUpgrade(target, request);
  } catch (error) {
    if (!(error instanceof NoResponse)) throw error;
    throw serverError(error.connected ? error.message : `error dialing backend: ${error.message}`);
  }
}

/**
 * Passes a response through with which the other server rejected the upgrade. Throws 500 for a success status
 * without an upgrade.
 */
export function refusal(response: IncomingMessage): ApiResponse {
  const status = response.statusCode ?? 502;
  if (status < 400) {
    response.destroy();
    throw serverError(`invalid upgrade response: status code ${status}`);
  }
  const { connection, "keep-alive": _, "transfer-encoding": __, ...headers } = response.headersDistinct;
  const known = Object.entries(headers).filter(
    (entry): entry is [string, string[]] => entry[1] !== undefined,
  );
  return { type: "bytes", status, headers: Object.fromEntries(known), chunks: response };
}
