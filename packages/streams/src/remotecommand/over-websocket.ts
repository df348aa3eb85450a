import { Readable } from "node:stream";
import {
  acceptWebSocket,
  offeredProtocols,
  refuseWebSocket,
  type WebSocketUpgrade,
} from "../websocket/accept.ts";
import { WebSocketChannels } from "../websocket/channels.ts";
import type { RemoteCommand, RemoteCommandOptions } from "./remote-command.ts";
import { terminalSizes } from "./resize.ts";
import { statusBytes } from "./status.ts";

/**
 * Supported protocols of exec and attach over WebSocket. A client without a protocol gets the first, binary
 * one.
 */
export const webSocketRemoteCommandProtocols = [
  "",
  "channel.k8s.io",
  "base64.channel.k8s.io",
  "v4.channel.k8s.io",
  "v4.base64.channel.k8s.io",
] as const;

const [stdinChannel, stdoutChannel, stderrChannel, errorChannel, resizeChannel] = [0, 1, 2, 3, 4] as const;

/**
 * Accepts a request to upgrade to WebSocket for exec or attach and takes over its connection. Selects the
 * first protocol of the client that is in `supported` (v5, whose channels can be closed, is KEP-4006).
 * Returns undefined after a refused request.
 */
export async function remoteCommandOverWebSocket(
  upgrade: WebSocketUpgrade,
  wanted: RemoteCommandOptions,
  supported: readonly string[],
): Promise<RemoteCommand | undefined> {
  const protocol = offeredProtocols(upgrade.request).find((each) => supported.includes(each));
  if (protocol === undefined) {
    await refuseWebSocket(upgrade.socket);
    return undefined;
  }
  const ws = await acceptWebSocket(upgrade, protocol);
  if (ws === undefined) return undefined;
  const channels = new WebSocketChannels(ws, protocol, [
    wanted.stdin ? "in" : undefined,
    wanted.stdout ? "out" : undefined,
    wanted.stderr ? "out" : undefined,
    undefined,
    wanted.tty ? "in" : undefined,
  ]);
  const stdin = channels.channel(stdinChannel);
  const stdout = channels.channel(stdoutChannel);
  const stderr = channels.channel(stderrChannel);
  // An empty message tells the client that it is connected.
  const lowest = stdout ? stdoutChannel : stderr ? stderrChannel : errorChannel;
  channels.send(lowest, Buffer.alloc(0), () => {});
  return {
    ...(stdin ? { stdin } : {}),
    ...(stdout ? { stdout } : {}),
    ...(stderr ? { stderr } : {}),
    sizes: terminalSizes(channels.channel(resizeChannel) ?? Readable.from([])),
    closed: channels.closed,
    finish: (status) => channels.finish({ channel: errorChannel, bytes: statusBytes(status, protocol) }),
  };
}
