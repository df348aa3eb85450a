export { type Channel, type ChannelOptions, tcpChannel, unixChannel } from "./grpc/channel.ts";
export { type RpcServer, type ServerOptions, tcpServer, unixServer } from "./grpc/server.ts";
export {
  checkReachableSocketPath,
  checkSocketPath,
  maxSocketPathBytes,
  removeStaleSocket,
} from "./grpc/socket-path.ts";
export { type RpcCode, RpcError, rpcCodes } from "./protocol/error.ts";
export type {
  CallContext,
  Caller,
  CallOptions,
  Handlers,
  MessageType,
  MethodDefinition,
  Service,
  ServiceDefinition,
} from "./protocol/service.ts";
export { service } from "./protocol/service.ts";
export { type TtrpcClient, ttrpcClient } from "./ttrpc/client.ts";
export { maxTtrpcBytes } from "./ttrpc/frames.ts";
export { serveTtrpc } from "./ttrpc/server.ts";
