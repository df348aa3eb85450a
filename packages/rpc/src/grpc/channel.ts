import type { Client, CallOptions as GrpcCallOptions, Metadata } from "@grpc/grpc-js";
import { fromServiceError, RpcError } from "../protocol/error.ts";
import { maxMessageBytes } from "../protocol/limits.ts";
import type { Caller, CallOptions, MethodDefinition, ServiceDefinition } from "../protocol/service.ts";
import { grpc } from "./library.ts";
import { openSocketPath } from "./socket-path.ts";

/** A connection to one server that reconnects when it breaks. */
export interface Channel {
  /** Returns the methods of one service over this connection. */
  caller<D extends ServiceDefinition>(definition: D): Caller<D>;
  /** Connects if necessary; rejects with DeadlineExceeded after `timeout` milliseconds. */
  ready(timeout: number): Promise<void>;
  /**
   * Keeps the connection open without calls, and calls `listener` at once and at each change of its state.
   * Returns a function that stops this.
   */
  watchConnected(listener: (connected: boolean) => void): () => void;
  /** Running calls end with Canceled. */
  close(): void;
}

const options = {
  // A path is not a valid :authority, which servers in Go check.
  "grpc.default_authority": "localhost",
  "grpc.enable_http_proxy": 0,
  "grpc.enable_channelz": 0,
  // A new socket at the same path must not wait for the back-off of the previous one.
  "grpc.use_local_subchannel_pool": 1,
  "grpc.initial_reconnect_backoff_ms": 100,
  "grpc.min_reconnect_backoff_ms": 100,
  "grpc.max_reconnect_backoff_ms": 3000,
  // Never idle: the kubelet takes a lost connection for the end of the driver (kubernetes#133335).
  "grpc.client_idle_timeout_ms": 0x7fffffff,
  // No keepalive pings: a broken unix socket is noticed without them, and servers in Go disconnect clients
  // with more than one ping in 5 minutes.
};

export interface ChannelOptions {
  /** Maximum size of a response in bytes; default: 4 MiB. */
  readonly maxReceiveBytes?: number;
}

/**
 * Creates a channel to a unix socket, which connects with the first call. Throws if the path cannot be
 * reached.
 */
export function unixChannel(path: string, options: ChannelOptions = {}): Channel {
  const reachable = openSocketPath(path);
  const made = channel(`unix:${reachable.path}`, `unix:${path}`, options);
  return {
    ...made,
    close() {
      made.close();
      reachable.close();
    },
  };
}

/** Creates a channel to `host:port` without encryption. */
export function tcpChannel(address: string): Channel {
  return channel(address);
}

/** `name` is the target in errors. */
function channel(
  target: string,
  name = target,
  { maxReceiveBytes = maxMessageBytes }: ChannelOptions = {},
): Channel {
  const { Client, credentials } = grpc();
  const client = new Client(target, credentials.createInsecure(), {
    ...options,
    "grpc.max_receive_message_length": maxReceiveBytes,
  });
  /**
   * Callbacks that must run before the client is closed: a closed client reconnects when its state is read.
   */
  const onClose = new Set<() => void>();

  const watchConnected: Channel["watchConnected"] = (listener) => {
    const stop = watchState(client, listener);
    onClose.add(stop);
    return () => {
      onClose.delete(stop);
      stop();
    };
  };

  const ready: Channel["ready"] = (timeout) =>
    new Promise((resolve, reject) => {
      let stop = (): void => {};
      const end = (error?: RpcError): void => {
        clearTimeout(timer);
        onClose.delete(closed);
        stop();
        if (error === undefined) resolve();
        else reject(error);
      };
      const closed = (): void => end(new RpcError("Canceled", `the channel to ${name} was closed`));
      const late = (): void =>
        end(new RpcError("DeadlineExceeded", `no connection to ${name} within ${timeout} ms`));
      const timer = setTimeout(late, timeout);
      onClose.add(closed);
      let connected = false;
      stop = watchState(client, (now) => {
        connected = now;
        if (now) end();
      });
      if (connected) stop();
    });

  return {
    caller: (definition) => makeCaller(client, definition),
    ready,
    watchConnected,
    close() {
      for (const end of [...onClose]) end();
      client.close();
    },
  };
}

/**
 * A connection that broke within this time in milliseconds counts as a failure, for which gRPC has no
 * back-off: a server that ends each connection would keep this process busy.
 */
const minLifetime = 1000;
const backoff = { first: 100, max: 3000 };

/** Keeps a client connected and reports changes of its state. Returns a function that stops this. */
function watchState(client: Client, listener: (connected: boolean) => void): () => void {
  const { connectivityState } = grpc();
  const channel = client.getChannel();
  let stopped = false;
  let last: boolean | undefined;
  let connectedAt: number | undefined;
  let failures = 0;
  let timer: NodeJS.Timeout | undefined;
  const connect = (): void => void channel.getConnectivityState(true);
  const changed = (connected: boolean): void => {
    last = connected;
    if (connected) connectedAt = performance.now();
    else if (connectedAt !== undefined)
      failures = performance.now() - connectedAt < minLifetime ? failures + 1 : 0;
    listener(connected);
  };
  const look = (): void => {
    if (stopped) return;
    const state = channel.getConnectivityState(false);
    const connected = state === connectivityState.READY;
    if (connected !== last) changed(connected);
    if (stopped) return;
    channel.watchConnectivityState(state, Number.POSITIVE_INFINITY, look);
    if (state !== connectivityState.IDLE) return;
    clearTimeout(timer);
    if (failures === 0) connect();
    else timer = setTimeout(connect, Math.min(backoff.first * 2 ** (failures - 1), backoff.max));
  };
  look();
  return () => {
    stopped = true;
    clearTimeout(timer);
  };
}

function makeCaller<D extends ServiceDefinition>(client: Client, definition: D): Caller<D> {
  const caller: Record<string, unknown> = {};
  for (const [key, method] of Object.entries(definition.methods)) {
    const remote = { client, path: `/${definition.fullName}/${method.name}`, method };
    caller[key] = method.responseStream
      ? (request: unknown, options?: CallOptions) => stream(remote, request, options)
      : (request: unknown, options?: CallOptions) => unary(remote, request, options);
  }
  return caller as Caller<D>;
}

function callOptions({ timeout }: CallOptions): GrpcCallOptions {
  return timeout === undefined ? {} : { deadline: Date.now() + timeout };
}

interface RemoteMethod {
  readonly client: Client;
  readonly path: string;
  readonly method: MethodDefinition;
}

function unary(
  { client, path, method }: RemoteMethod,
  request: unknown,
  options: CallOptions = {},
): Promise<unknown> {
  const { signal } = options;
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(new RpcError("Canceled", "cancelled by the caller"));
    const call = client.makeUnaryRequest(
      path,
      (message: unknown) => Buffer.from(method.requestType.encode(message).finish()),
      (bytes: Buffer) => method.responseType.decode(bytes) as unknown,
      request,
      metadata(),
      callOptions(options),
      (error, response) => {
        signal?.removeEventListener("abort", cancel);
        if (error) reject(fromServiceError(error));
        else resolve(response);
      },
    );
    const cancel = (): void => call.cancel();
    signal?.addEventListener("abort", cancel, { once: true });
  });
}

async function* stream(
  { client, path, method }: RemoteMethod,
  request: unknown,
  options: CallOptions = {},
): AsyncGenerator<unknown> {
  const { signal } = options;
  if (signal?.aborted) throw new RpcError("Canceled", "cancelled by the caller");
  const call = client.makeServerStreamRequest(
    path,
    (message: unknown) => Buffer.from(method.requestType.encode(message).finish()),
    (bytes: Buffer) => method.responseType.decode(bytes) as unknown,
    request,
    metadata(),
    callOptions(options),
  );
  const cancel = (): void => call.cancel();
  signal?.addEventListener("abort", cancel, { once: true });
  // A call that is cancelled after the end of the loop emits an error without a listener.
  call.on("error", () => {});
  try {
    for await (const message of call) yield message;
  } catch (error) {
    throw fromServiceError(error);
  } finally {
    signal?.removeEventListener("abort", cancel);
    call.cancel();
  }
}

function metadata(): Metadata {
  return new (grpc().Metadata)();
}
