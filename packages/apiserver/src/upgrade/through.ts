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
  const answer = await proxyUpgrade(target, sent.method, path, forwardedHeaders(sent), sent.signal);
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
      joinConnections(socket, head, backend, first, clock);
    },
    discard: () => backend.destroy(),
  };
}

/** Milliseconds in which the remaining bytes of one side may be sent to the other. */
const closeTimeout = 10_000;

/**
 * Copies in both directions until either side ends, which ends both. `heads`: bytes that were read already.
 */
export function joinConnections(
  client: Duplex,
  clientHead: Uint8Array,
  backend: Duplex,
  backendHead: Uint8Array,
  clock: Clock,
): void {
  if (clientHead.length > 0) backend.write(clientHead);
  if (backendHead.length > 0) client.write(backendHead);
  copy(client, backend, clock);
  copy(backend, client, clock);
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
