import type { ApiRequest, Clock, Log, UpgradeResponse, WatchResponse } from "@dray/client";
import { refuseWebSocket, webSocketMessages } from "@dray/streams";
import { subprotocols } from "./request.ts";

/** Milliseconds after which a client that reads nothing is disconnected. */
const writeTimeout = 60_000;
/** Length prefix of each event in protobuf, which messages do not need. */
const lengthBytes = 4;

/**
 * Sends a watch over WebSocket: each event is a message, textual for JSON (upstream's WatchServer.HandleWS).
 * As upstream, the client must send an Origin, and at most one subprotocol, of any name.
 */
export function watchOverWebSocket(
  request: ApiRequest,
  watch: WatchResponse,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): UpgradeResponse {
  const textual = String(watch.headers["content-type"]).startsWith("application/json");
  const protocols = subprotocols(request);
  const { origin } = request.headers;
  return {
    type: "upgrade",
    status: 101,
    headers: {},
    accept(socket, head) {
      const serve = async (): Promise<void> => {
        if (origin === undefined || !URL.canParse(origin)) return refuseWebSocket(socket);
        if (protocols.length > 1) return refuseWebSocket(socket, "400 Bad Request");
        const client = await webSocketMessages({ request, socket, head }, protocols[0] ?? "");
        if (client === undefined) return;
        for await (const frame of watch.events) {
          const bytes = frame.bytes();
          const cancel = clock.after(writeTimeout, () => {
            log.warn({ url: request.url }, "a client that takes nothing of its watch was cut off");
            socket.destroy();
          });
          await client
            .send(textual ? Buffer.from(bytes).toString("utf8") : bytes.subarray(lengthBytes))
            .finally(cancel);
        }
        client.close();
      };
      serve().catch((error: unknown) => {
        log.debug({ error, url: request.url }, "a client has gone away");
        socket.destroy();
      });
    },
    discard() {},
  };
}
