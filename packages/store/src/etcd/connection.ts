import { createRequire } from "node:module";
import { isIP } from "node:net";
import { setTimeout } from "node:timers/promises";
import type { PeerCertificate } from "node:tls";
import type { Client, ClientDuplexStream, ServiceError } from "@grpc/grpc-js";
import { CompactedError, StoreTimeoutError } from "../base/store.ts";
import type { Given } from "./codec.ts";
import { type Method, range } from "./messages.ts";

export interface Endpoints {
  /** URLs of the members of one etcd cluster: `http://host:port`, or `https` for TLS. */
  readonly endpoints: readonly string[];
  /** PEM of the authority that signed the members' certificates; the system's authorities if absent. */
  readonly authority?: Buffer;
  /** PEM of the client's certificate and its key. */
  readonly certificate?: Buffer;
  readonly key?: Buffer;
}

const options = {
  "grpc.enable_http_proxy": 0,
  "grpc.enable_channelz": 0,
  "grpc.use_local_subchannel_pool": 1,
  "grpc.initial_reconnect_backoff_ms": 100,
  "grpc.min_reconnect_backoff_ms": 100,
  "grpc.max_reconnect_backoff_ms": 2000,
  "grpc.client_idle_timeout_ms": 0x7fffffff,
  // As kube-apiserver does: a member that has vanished without a word is noticed after so long.
  "grpc.keepalive_time_ms": 30_000,
  "grpc.keepalive_timeout_ms": 10_000,
  "grpc.max_receive_message_length": -1,
  "grpc.max_send_message_length": -1,
};

/**
 * Milliseconds that a call may take, waiting for a connection included (kube-apiserver's limit for a write).
 */
const callTimeout = 34_000;
/** The same before there was a first connection: then a mistake in the address is likely. */
const firstCallTimeout = 10_000;
/** Milliseconds to wait for one member before the next is tried. */
const connectTimeout = 2_000;

/** Milliseconds before a call is made again. */
const againAfter = 100;
const deadlineExceeded = 4;

/** Connections to the members of an etcd cluster, of which one is used until it fails. */
export class Connection {
  readonly #clients: readonly Client[];
  readonly #states: typeof import("@grpc/grpc-js").connectivityState;
  readonly #unavailable: number;
  readonly #metadata: () => import("@grpc/grpc-js").Metadata;
  #current = 0;
  /** There has been a connection. */
  #reached = false;
  #closed = false;

  /** Connects with the first call. Throws if a URL is invalid, or a certificate cannot be read. */
  constructor(endpoints: Endpoints) {
    // Loaded here, because it is large and most clusters have no etcd.
    const require = createRequire(import.meta.url);
    const grpc = require("@grpc/grpc-js") as typeof import("@grpc/grpc-js");
    const { Client, credentials, connectivityState, status, Metadata } = grpc;
    this.#clients = endpoints.endpoints.map((endpoint) => {
      const { protocol, hostname, port } = new URL(endpoint);
      const secure = protocol === "https:";
      const target = `${hostname}:${port || (secure ? 443 : 80)}`;
      if (!secure) return new Client(target, credentials.createInsecure(), options);
      const { authority = null, key = null, certificate = null } = endpoints;
      const address = hostname.replace(/^\[|\]$/g, "");
      if (isIP(address) === 0) {
        return new Client(target, credentials.createSsl(authority, key, certificate), options);
      }
      // TLS has no server names that are addresses: another name is sent, and the address is checked here.
      const { checkServerIdentity } = require("node:tls") as typeof import("node:tls");
      const verify = {
        checkServerIdentity: (_: string, peer: PeerCertificate) => checkServerIdentity(address, peer),
      };
      return new Client(target, credentials.createSsl(authority, key, certificate, verify), {
        ...options,
        "grpc.ssl_target_name_override": "localhost",
        "grpc.default_authority": target,
      });
    });
    this.#states = connectivityState;
    this.#unavailable = status.UNAVAILABLE;
    this.#metadata = () => new Metadata();
  }

  /**
   * Calls a method. With `again` it is called again after a failure of the connection: only for what may be
   * done twice. Rejects with `StoreTimeoutError` if no member answers in time.
   */
  async call<Q, R>(method: Method<Q, R>, request: Given<Q>, again: boolean): Promise<R> {
    const deadline = performance.now() + (this.#reached ? callTimeout : firstCallTimeout);
    while (true) {
      const client = await this.#connected(deadline);
      try {
        return await this.#once(client, method, request, deadline - performance.now());
      } catch (error) {
        const { code } = error as ServiceError;
        if (code === this.#unavailable || code === deadlineExceeded) this.#failed(client);
        if (!again || code !== this.#unavailable) throw errorOf(error);
        await setTimeout(againAfter);
      }
    }
  }

  /**
   * Opens a stream of requests and answers; it is ended with `cancel`. Undefined if the signal has aborted by
   * then.
   */
  async stream<Q, R>(
    method: Method<Q, R>,
    first: Given<Q>,
    signal: AbortSignal,
  ): Promise<ClientDuplexStream<Given<Q>, R> | undefined> {
    const client = await this.#connected(performance.now() + callTimeout);
    if (signal.aborted) return undefined;
    const stream = client.makeBidiStreamRequest(
      method.path,
      (message: Given<Q>) => method.request.encode(message),
      (bytes: Buffer) => method.response.decode(bytes),
      this.#metadata(),
    );
    // Default handler: a cancelled stream emits an event without a listener.
    stream.on("error", (error: ServiceError) => {
      if (error.code === this.#unavailable) this.#failed(client);
    });
    stream.write(first);
    return stream;
  }

  /** Calls that wait or run end with an error. */
  close(): void {
    this.#closed = true;
    for (const client of this.#clients) client.close();
  }

  async #connected(deadline: number): Promise<Client> {
    for (let tries = 1; ; tries++) {
      if (this.#closed) throw new Error("the store is closed");
      const client = this.#clients[this.#current % this.#clients.length]!;
      if (await this.#connect(client)) {
        this.#reached = true;
        return client;
      }
      if (performance.now() >= deadline) {
        throw new StoreTimeoutError(`no member of etcd can be reached: ${await this.#reason(client)}`);
      }
      this.#failed(client);
      if (tries % this.#clients.length === 0) await setTimeout(againAfter);
    }
  }

  /** True when connected; false when the member refuses, or does not answer soon. */
  async #connect(client: Client): Promise<boolean> {
    const channel = client.getChannel();
    const deadline = Date.now() + connectTimeout;
    while (!this.#closed) {
      const state = channel.getConnectivityState(true);
      if (state === this.#states.READY) return true;
      if (state === this.#states.TRANSIENT_FAILURE) return false;
      const late = await new Promise<boolean>((resolve) =>
        channel.watchConnectivityState(state, deadline, (error) => resolve(error !== undefined)),
      );
      if (late) return false;
    }
    return false;
  }

  /** Returns why the connection is missing, for the error of a call. */
  async #reason(client: Client): Promise<string> {
    try {
      await this.#once(client, range, {}, againAfter);
      return "it is just back";
    } catch (error) {
      return (error as ServiceError).details.replace(/ Resolution note: $/, "");
    }
  }

  #once<Q, R>(client: Client, method: Method<Q, R>, request: Given<Q>, limit: number): Promise<R> {
    return new Promise((resolve, reject) =>
      client.makeUnaryRequest(
        method.path,
        (message: Given<Q>) => method.request.encode(message),
        (bytes: Buffer) => method.response.decode(bytes),
        request,
        this.#metadata(),
        { deadline: Date.now() + limit },
        (error, response) => {
          if (error) reject(error);
          else resolve(response as R);
        },
      ),
    );
  }

  /** The next call goes to another member, unless one has moved on already. */
  #failed(client: Client): void {
    if (client === this.#clients[this.#current % this.#clients.length]) this.#current++;
  }
}

/** Converts the error of a call to one of a store. */
export function errorOf(error: unknown): Error {
  const { code, details, message } = error as Partial<ServiceError>;
  if (code === deadlineExceeded)
    return new StoreTimeoutError("etcd has not answered in time", { cause: error });
  if (details === "etcdserver: mvcc: required revision has been compacted") {
    return new CompactedError(undefined, { cause: error });
  }
  return new Error(details || message || String(error), { cause: error });
}
