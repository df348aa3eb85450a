import type { Client, CallOptions as GrpcCallOptions, Metadata } from "@grpc/grpc-js";
import { fromServiceError, RpcError } from "../protocol/error.ts";
import { maxMessageBytes } from "../protocol/limits.ts";
import type { Caller, CallOptions, MethodDefinition, ServiceDefinition } from "../protocol/service.ts";
import { grpc } from "./library.ts";
import { openSocketPath } from "./socket-path.ts";

/** A connection to one server that is made again when it breaks. */
export interface Channel {
  /** Calls of one service over this connection. */
  caller<D extends ServiceDefinition>(definition: D): Caller<D>;
  /** Connects if need be; rejects with DeadlineExceeded if that takes more than `timeout` milliseconds. */
  ready(timeout: number): Promise<void>;
  /**
   * Keeps the connection up without calls, and calls `listener` at once and then whenever it comes or goes.
   * Answers a function that ends this.
   */
  watchConnected(listener: (connected: boolean) => void): () => void;
  /** Running calls end with Canceled. */
  close(): void;
}

const options = {
  // A path is no valid :authority, which servers in Go check.
  "grpc.default_authority": "localhost",
  "grpc.enable_http_proxy": 0,
  "grpc.enable_channelz": 0,
  // A socket that is created anew at the same path must not wait for the backoff of the one before.
  "grpc.use_local_subchannel_pool": 1,
  "grpc.initial_reconnect_backoff_ms": 100,
  "grpc.min_reconnect_backoff_ms": 100,
  "grpc.max_reconnect_backoff_ms": 3000,
  // Never idle: the kubelet takes a lost connection for a driver that has gone (kubernetes#133335).
  "grpc.client_idle_timeout_ms": 0x7fffffff,
  // No keepalive pings: a unix socket cannot break unnoticed, and servers in Go close on more than one in 5
  // minutes.
};

export interface ChannelOptions {
  /** Maximum size of an answer in bytes; 4 MiB if absent. */
  readonly maxReceiveBytes?: number;
}

/** A channel to a unix socket; connects with the first call. Throws if the path cannot be reached. */
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

/** A channel to `host:port` without encryption. */
export function tcpChannel(address: string): Channel {
  return channel(address);
}

/** `name` stands for the target in errors. */
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
  /** Waits to end before the client is closed: a closed client that is asked for its state connects again. */
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

/** Connects whenever there is no connection, and says when that changes; answers what ends it. */
function watchState(client: Client, listener: (connected: boolean) => void): () => void {
  const { connectivityState } = grpc();
  const channel = client.getChannel();
  let stopped = false;
  let last: boolean | undefined;
  const look = (): void => {
    if (stopped) return;
    const state = channel.getConnectivityState(true);
    const connected = state === connectivityState.READY;
    if (connected !== last) {
      last = connected;
      listener(connected);
    }
    if (!stopped) channel.watchConnectivityState(state, Number.POSITIVE_INFINITY, look);
  };
  look();
  return () => {
    stopped = true;
  };
}

function makeCaller<D extends ServiceDefinition>(client: Client, definition: D): Caller<D> {
  const caller: Record<string, unknown> = {};
  for (const [key, method] of Object.entries(definition.methods)) {
    const path = `/${definition.fullName}/${method.name}`;
    caller[key] = method.responseStream
      ? (request: unknown, options?: CallOptions) => stream(client, path, method, request, options)
      : (request: unknown, options?: CallOptions) => unary(client, path, method, request, options);
  }
  return caller as Caller<D>;
}

function callOptions({ timeout }: CallOptions): GrpcCallOptions {
  return timeout === undefined ? {} : { deadline: Date.now() + timeout };
}

function unary(
  client: Client,
  path: string,
  method: MethodDefinition,
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
  client: Client,
  path: string,
  method: MethodDefinition,
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
  // A call that is cancelled after the loop has been left reports so by an event that nobody waits for.
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
