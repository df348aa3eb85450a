export { type Channel, type ChannelOptions, tcpChannel, unixChannel } from "./channel.ts";
export { type RpcCode, RpcError, rpcCodes } from "./error.ts";
export { type RpcServer, type ServerOptions, tcpServer, unixServer } from "./server.ts";
export type {
  CallContext,
  Caller,
  CallOptions,
  Handlers,
  MessageType,
  MethodDefinition,
  Service,
  ServiceDefinition,
} from "./service.ts";
export { service } from "./service.ts";
export {
  checkReachableSocketPath,
  checkSocketPath,
  maxSocketPathBytes,
  removeStaleSocket,
} from "./socket-path.ts";
export { type TtrpcClient, ttrpcClient } from "./ttrpc/client.ts";
export { maxTtrpcBytes } from "./ttrpc/frames.ts";
export { serveTtrpc } from "./ttrpc/server.ts";
