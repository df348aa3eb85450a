import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import type { Duplex } from "node:stream";
import { quoted } from "@dray/api";
import type { ApiResponse } from "@dray/client";
import { serverError } from "../errors/status.ts";
import { dialError, type Target, tlsOf } from "../proxy/kubelet.ts";

/** What another server says to a request to upgrade. */
export type BackendAnswer =
  | {
      readonly upgraded: true;
      readonly response: IncomingMessage;
      readonly socket: Duplex;
      /** Bytes that came right behind the answer. */
      readonly head: Buffer;
    }
  | { readonly upgraded: false; readonly response: IncomingMessage };

/** There was no answer to a request to upgrade; why not, in the words of Go. */
export class NoAnswer extends Error {
  override readonly name = "NoAnswer";
  /** There was a connection. */
  readonly connected: boolean;

  constructor(message: string, connected: boolean) {
    super(message);
    this.connected = connected;
  }
}

/** Asks another server to upgrade a new connection. Rejects with `NoAnswer`. */
export async function askForUpgrade(
  { scheme, host, port, client, tls = {} }: Target,
  method: string,
  path: string,
  headers: Readonly<Record<string, string | readonly string[]>>,
  signal: AbortSignal,
): Promise<BackendAnswer> {
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
      // The header Host is the client's; the certificate is that of the server.
      ...(secure ? { ...tlsOf(client ?? {}), servername: isIP(host) === 0 ? host : "", ...tls } : {}),
    });
    let connected = false;
    // Go's dial includes the handshake.
    call.once("socket", (socket) =>
      socket.once(secure ? "secureConnect" : "connect", () => (connected = true)),
    );
    call.on("error", (error: NodeJS.ErrnoException & { rawPacket?: Buffer }) => {
      reject(new NoAnswer(connected ? brokenOff(error) : dialError(error, host, portNumber), connected));
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

/** Why an answer did not come to its end. */
function brokenOff({
  code = "",
  message,
  rawPacket,
}: NodeJS.ErrnoException & { rawPacket?: Buffer }): string {
  if (code === "ECONNRESET" || code === "EPIPE") return "unexpected EOF";
  if (!code.startsWith("HPE_") || rawPacket === undefined) return message;
  const [line = ""] = rawPacket.toString("latin1").split(/\r?\n/, 1);
  return `malformed HTTP response ${quoted(line)}`;
}

/** As `askForUpgrade`, for a client that gets the answer as it is. Rejects with 500. */
export async function passUpgradeOn(...question: Parameters<typeof askForUpgrade>): Promise<BackendAnswer> {
  try {
    return await askForUpgrade(...question);
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error;
    throw serverError(error.connected ? error.message : `error dialing backend: ${error.message}`);
  }
}

/** Passes on that the other server has refused to upgrade. Throws 500 where it has not, but has not upgraded either. */
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
