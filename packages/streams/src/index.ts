export { Budget } from "./connections/budget.ts";
export { maxConnections, openFilesLimit, shareOfFiles } from "./connections/capacity.ts";
export { ConnectionLimit } from "./connections/connection-limit.ts";
export { limitHandshakes } from "./connections/handshake-limit.ts";
export { forwardedPorts, portForwardOverWebSocket } from "./portforward/over-websocket.ts";
export { type ForwardedConnection, portForwardOverSpdy } from "./portforward/port-forward.ts";
export { remoteCommandOverSpdy } from "./remotecommand/over-spdy.ts";
export {
  remoteCommandOverWebSocket,
  webSocketRemoteCommandProtocols,
} from "./remotecommand/over-websocket.ts";
export {
  acceptedProtocolsHeader,
  type Handshake,
  handshake,
  portForwardProtocol,
  protocolHeader,
  remoteCommandProtocols,
  streamTypeHeader,
} from "./remotecommand/protocol.ts";
export type { RemoteCommand, RemoteCommandOptions } from "./remotecommand/remote-command.ts";
export { resizeMessage, type TerminalSize } from "./remotecommand/resize.ts";
export { type LocalStreams, runRemoteCommand } from "./remotecommand/run.ts";
export { exited, internalError, type Outcome, type RemoteStatus, success } from "./remotecommand/status.ts";
export { type SpdyOptions, type SpdySession, spdySession } from "./spdy/session.ts";
export type { SpdyStream } from "./spdy/stream.ts";
export {
  refuseWebSocket,
  type WebSocketMessages,
  type WebSocketRequest,
  type WebSocketUpgrade,
  webSocketMessages,
  webSocketStream,
} from "./websocket/accept.ts";
