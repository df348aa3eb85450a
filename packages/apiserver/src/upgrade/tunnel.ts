import type { ApiRequest, ApiResponse, Clock } from "@dray/client";
import { protocolHeader, webSocketStream } from "@dray/streams";
import { serverError } from "../errors/status.ts";
import type { Target } from "../proxy/kubelet.ts";
import { proxyUpgrade, refusal } from "./backend.ts";
import { forwardedHeaders, subprotocols } from "./request.ts";
import { joinConnections } from "./through.ts";

const prefix = "SPDY/3.1+";
const suffix = ".k8s.io";

/**
 * Returns the protocols over SPDY that a WebSocket client offers to tunnel: `portforward.k8s.io` of
 * `SPDY/3.1+portforward.k8s.io`.
 */
export function tunnelledProtocols(request: ApiRequest): readonly string[] {
  return subprotocols(request)
    .filter((each) => each.startsWith(prefix) && each.endsWith(suffix))
    .map((each) => each.slice(prefix.length));
}

/**
 * Tunnels port-forward of a WebSocket client: its binary messages are the bytes of a SPDY connection to the
 * kubelet (upstream's TunnelingHandler).
 */
export async function tunnelled(
  target: Target,
  sent: ApiRequest,
  path: string,
  clock: Clock,
): Promise<ApiResponse> {
  const {
    "sec-websocket-protocol": _,
    "sec-websocket-key": __,
    "sec-websocket-version": ___,
    ...others
  } = forwardedHeaders(sent);
  const headers = { ...others, upgrade: "SPDY/3.1", [protocolHeader]: tunnelledProtocols(sent) };
  const answer = await proxyUpgrade(target, { method: "POST", path, headers, signal: sent.signal });
  if (!answer.upgraded) return refusal(answer.response);
  const { response, socket: backend, head: first } = answer;
  if (!response.headers.upgrade?.toLowerCase().includes("spdy/3.1")) {
    backend.destroy();
    throw serverError("unable to upgrade: missing upgrade headers in response");
  }
  const chosen = [response.headers[protocolHeader] ?? ""].flat()[0]!.trim();
  const protocol = subprotocols(sent).find((each) => chosen !== "" && each === prefix + chosen) ?? "";
  return {
    type: "upgrade",
    status: 101,
    headers: {},
    accept(socket, head) {
      webSocketStream({ request: sent, socket, head }, protocol).then(
        (client) => {
          if (client === undefined) backend.destroy();
          else
            joinConnections(
              { socket: client, head: new Uint8Array() },
              { socket: backend, head: first },
              clock,
            );
        },
        () => {
          backend.destroy();
          socket.destroy();
        },
      );
    },
    discard: () => backend.destroy(),
  };
}
