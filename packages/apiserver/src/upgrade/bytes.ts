import type { ApiRequest, ByteStreamResponse, Log, UpgradeResponse } from "@dray/client";
import { refuseWebSocket, webSocketMessages } from "@dray/streams";
import { subprotocols } from "./request.ts";

/** Subprotocols, with true for binary messages and false for base64 text. */
const protocols: ReadonlyMap<string, boolean> = new Map([
  ["", true],
  ["binary.k8s.io", true],
  ["base64.binary.k8s.io", false],
]);
/** Maximum number of bytes in a message, before base64. */
const maxMessageLength = 2048;

/**
 * Returns a byte stream over WebSocket: an empty message, so that the client sees that the stream has begun,
 * then the bytes as they come. A client that offers only other subprotocols gets 403.
 *
 * Upstream: k8s.io/streaming, pkg/httpstream/wsstream/stream.go, Reader
 */
export function bytesOverWebSocket(
  request: ApiRequest,
  { chunks }: ByteStreamResponse,
  log: Log,
): UpgradeResponse {
  const offered = subprotocols(request);
  const protocol = offered.length === 0 ? "" : offered.find((each) => protocols.has(each));
  return {
    type: "upgrade",
    status: 101,
    headers: {},
    accept(socket, head) {
      const serve = async (): Promise<void> => {
        if (protocol === undefined) return refuseWebSocket(socket);
        const client = await webSocketMessages({ request, socket, head }, protocol);
        if (client === undefined) return;
        const binary = protocols.get(protocol);
        const send = (bytes: Uint8Array): Promise<void> =>
          client.send(binary ? bytes : Buffer.from(bytes).toString("base64"));
        await send(new Uint8Array());
        for await (const chunk of chunks) {
          for (let at = 0; at < chunk.length; at += maxMessageLength) {
            await send(chunk.subarray(at, at + maxMessageLength));
          }
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
