import type { Duplex } from "node:stream";
import type { ApiRequest, ApiResponse, Clock } from "@dray/client";
import type { Target } from "../proxy/kubelet.ts";
import { proxyUpgrade, refusal } from "./backend.ts";
import { forwardedHeaders } from "./request.ts";

/**
 * Passes an upgrade request on to another server, then copies bytes in both directions (upstream's
 * UpgradeAwareHandler).
 */
export async function upgradeThrough(
  target: Target,
  sent: ApiRequest,
  path: string,
  clock: Clock,
): Promise<ApiResponse> {
  const answer = await proxyUpgrade(target, {
    method: sent.method,
    path,
    headers: forwardedHeaders(sent),
    signal: sent.signal,
  });
  if (!answer.upgraded) return refusal(answer.response);
  const { response, socket: backend, head: first } = answer;
  return {
    type: "upgrade",
    status: 101,
    headers: {},
    accept(socket, head) {
      const { rawHeaders } = response;
      let text = `HTTP/1.1 101 ${response.statusMessage}\r\n`;
      for (let at = 0; at < rawHeaders.length; at += 2)
        text += `${rawHeaders[at]}: ${rawHeaders[at + 1]}\r\n`;
      socket.write(`${text}\r\n`, "latin1");
      joinConnections({ socket, head }, { socket: backend, head: first }, clock);
    },
    discard: () => backend.destroy(),
  };
}

/** Milliseconds in which the remaining bytes of one side may be sent to the other. */
const closeTimeout = 10_000;

/** A connection, and the bytes that were read from it already. */
interface Connection {
  readonly socket: Duplex;
  readonly head: Uint8Array;
}

/** Copies in both directions until either side ends, which ends both. */
export function joinConnections(client: Connection, backend: Connection, clock: Clock): void {
  if (client.head.length > 0) backend.socket.write(client.head);
  if (backend.head.length > 0) client.socket.write(backend.head);
  copy(client.socket, backend.socket, clock);
  copy(backend.socket, client.socket, clock);
}

function copy(from: Duplex, to: Duplex, clock: Clock): void {
  from.on("error", () => {});
  from.pipe(to);
  from.once("close", () => {
    if (to.destroyed) return;
    const cancel = clock.after(closeTimeout, () => to.destroy());
    to.once("close", cancel);
    to.end(() => to.destroy());
  });
  if (from.destroyed) to.destroy();
}
