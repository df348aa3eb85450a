import { createServer, type Socket } from "node:net";
import type {
  ServiceDefinition as Methods,
  Server,
  ServerUnaryCall,
  ServerWritableStream,
  sendUnaryData,
} from "@grpc/grpc-js";
import { RpcError, toServiceError } from "../protocol/error.ts";
import { maxMessageBytes } from "../protocol/limits.ts";
import type { CallContext, Service } from "../protocol/service.ts";
import { grpc } from "./library.ts";
import { checkSocketPath, removeStaleSocket } from "./socket-path.ts";

export interface RpcServer {
  /** The path of the socket, or `host:port`. */
  readonly address: string;
  /** Rejects new calls, ends running ones after `grace` milliseconds (1000), and removes the socket. */
  close(grace?: number): Promise<void>;
}

export interface ServerOptions {
  /** Maximum size of a response in bytes; default: 4 MiB, the default limit of clients. */
  readonly maxSendBytes?: number;
}

/**
 * Serves on a unix socket. Replaces the socket of a killed server. grpc-js is loaded for the first client:
 * many sockets of a node never get one.
 */
export async function unixServer(
  path: string,
  services: readonly Service[],
  options: ServerOptions = {},
): Promise<RpcServer> {
  checkSocketPath(path);
  await removeStaleSocket(path);
  let server: Server | undefined;
  let inject: ((connection: Socket) => void) | undefined;
  const listener = createServer((connection) => {
    if (inject === undefined) {
      server = makeServer(services, options);
      const injector = server.createConnectionInjector(grpc().ServerCredentials.createInsecure());
      inject = (one) => injector.injectConnection(one);
    }
    inject(connection);
  });
  await new Promise<void>((resolve, reject) => {
    listener.once("error", (error) => reject(new Error(`cannot listen on unix:${path}: ${error.message}`)));
    listener.listen(path, resolve);
  });
  // A failure to accept one connection, such as a lack of descriptors, must not end the server.
  listener.on("error", () => {});
  return {
    address: path,
    async close(grace = 1000) {
      const closed = new Promise((resolve) => listener.close(resolve));
      if (server !== undefined) await close(server, grace);
      await closed;
    },
  };
}

/** Serves on TCP without encryption, for the kubelet's gRPC probes. Port 0: any free one. */
export async function tcpServer(
  host: string,
  port: number,
  services: readonly Service[],
): Promise<RpcServer> {
  const shown = host.includes(":") ? `[${host}]` : host;
  const target = `${shown}:${port}`;
  const server = makeServer(services, {});
  const bound = await new Promise<number>((resolve, reject) => {
    server.bindAsync(target, grpc().ServerCredentials.createInsecure(), (error, found) =>
      error === null ? resolve(found) : reject(new Error(`cannot listen on ${target}: ${error.message}`)),
    );
  });
  return { address: `${shown}:${bound}`, close: (grace = 1000) => close(server, grace) };
}

function makeServer(services: readonly Service[], { maxSendBytes = maxMessageBytes }: ServerOptions): Server {
  const { Server } = grpc();
  const server = new Server({
    "grpc.enable_channelz": 0,
    "grpc.max_receive_message_length": maxMessageBytes,
    // Clients accept no larger messages. The unread rest of a response would count against the connection's
    // memory for ever, and every later call would fail.
    "grpc.max_send_message_length": maxSendBytes,
    "grpc-node.max_session_memory": (4 * maxSendBytes) >> 20,
  });
  for (const one of services) addService(server, one);
  return server;
}

function close(server: Server, grace: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => server.forceShutdown(), grace);
    server.tryShutdown(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}

function addService(server: Server, { definition, handlers }: Service): void {
  const methods: Record<string, Methods[string]> = {};
  const implementation: Record<string, (...args: never[]) => void> = {};
  for (const [key, method] of Object.entries(definition.methods)) {
    const handler = handlers[key] as (request: unknown, context: CallContext) => unknown;
    methods[key] = {
      path: `/${definition.fullName}/${method.name}`,
      requestStream: false,
      responseStream: method.responseStream,
      requestSerialize: (message: unknown) => Buffer.from(method.requestType.encode(message).finish()),
      requestDeserialize: (bytes: Buffer) => method.requestType.decode(bytes),
      responseSerialize: (message: unknown) => Buffer.from(method.responseType.encode(message).finish()),
      responseDeserialize: (bytes: Buffer) => method.responseType.decode(bytes),
    };
    implementation[key] = method.responseStream
      ? (call: ServerWritableStream<unknown, unknown>) =>
          void stream(call, handler as (request: unknown, context: CallContext) => AsyncIterable<unknown>)
      : (call: ServerUnaryCall<unknown, unknown>, answer: sendUnaryData<unknown>) =>
          void unary(call, answer, handler as (request: unknown, context: CallContext) => Promise<unknown>);
  }
  server.addService(methods, implementation as never);
}

async function unary(
  call: ServerUnaryCall<unknown, unknown>,
  answer: sendUnaryData<unknown>,
  handler: (request: unknown, context: CallContext) => Promise<unknown>,
): Promise<void> {
  const aborted = new AbortController();
  call.on("cancelled", () => aborted.abort(new RpcError("Canceled", "the caller has gone")));
  try {
    answer(null, await handler(call.request, { signal: aborted.signal }));
  } catch (error) {
    answer(toServiceError(error));
  }
}

async function stream(
  call: ServerWritableStream<unknown, unknown>,
  handler: (request: unknown, context: CallContext) => AsyncIterable<unknown>,
): Promise<void> {
  const aborted = new AbortController();
  const { signal } = aborted;
  call.on("cancelled", () => aborted.abort(new RpcError("Canceled", "the caller has gone")));
  try {
    for await (const message of handler(call.request, { signal })) {
      if (signal.aborted) return;
      if (!call.write(message)) await drained(call, signal);
    }
    call.end();
  } catch (error) {
    if (!signal.aborted) call.emit("error", toServiceError(error));
  }
}

function drained(call: ServerWritableStream<unknown, unknown>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      call.off("drain", done);
      signal.removeEventListener("abort", done);
      resolve();
    };
    call.on("drain", done);
    signal.addEventListener("abort", done);
  });
}
