import { finished } from "node:stream/promises";
import {
  acceptWebSocket,
  offeredProtocols,
  refuseWebSocket,
  type WebSocketUpgrade,
} from "../websocket/accept.ts";
import { type ChannelUse, WebSocketChannels } from "../websocket/channels.ts";
import type { ForwardedConnection } from "./port-forward.ts";

const protocols = ["", "v4.channel.k8s.io", "v4.base64.channel.k8s.io"];

/**
 * Parses the ports in the query of a port-forward request over WebSocket: `port=80,81` or repeated. Throws an
 * error with the kubelet's text.
 */
export function forwardedPorts(query: URLSearchParams): readonly number[] {
  const values = query.getAll("port");
  if (values.length === 0) throw new Error('query parameter "port" is required');
  return values.flatMap((value) => {
    if (value === "") throw new Error('query parameter "port" cannot be empty');
    return value.split(",").map((text) => {
      const port = Number(text);
      if (!/^\d+$/.test(text) || port > 0xffff) {
        throw new Error(`unable to parse ${JSON.stringify(value)} as a port`);
      }
      if (port < 1) throw new Error(`port ${JSON.stringify(value)} must be > 0`);
      return port;
    });
  });
}

/**
 * Accepts a request to upgrade to WebSocket for port-forward and takes over its connection. Each port is one
 * connection with two channels, one for its data and one for an error; each channel begins with the port.
 * Clients other than kubectl use it. Resolves when all connections and the WebSocket have ended, or the
 * request was refused.
 */
export async function portForwardOverWebSocket(
  upgrade: WebSocketUpgrade,
  ports: readonly number[],
  onConnection: (connection: ForwardedConnection) => void,
): Promise<void> {
  const protocol = offeredProtocols(upgrade.request).find((each) => protocols.includes(each));
  if (protocol === undefined) return refuseWebSocket(upgrade.socket);
  const ws = await acceptWebSocket(upgrade, protocol);
  if (ws === undefined) return;
  const uses = ports.flatMap((): ChannelUse[] => ["both", "out"]);
  const channels = new WebSocketChannels(ws, protocol, uses);
  const ends = ports.flatMap((port, index) => {
    // `uses` has two channels for each port.
    const [data, error] = [channels.channel(2 * index)!, channels.channel(2 * index + 1)!];
    const first = Buffer.alloc(2);
    first.writeUInt16LE(port);
    data.write(first);
    error.write(first);
    const over = [data, error].map((each) => finished(each, { readable: false }));
    onConnection({ port, requestId: String(index), data, error });
    return over;
  });
  await Promise.race([Promise.allSettled(ends), channels.closed]);
  await channels.finish();
}
