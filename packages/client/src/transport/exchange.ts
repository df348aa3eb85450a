import type { Duplex } from "node:stream";
import type { KubeObject } from "@dray/api";

/**
 * The interface between clients and the API server: one request, one response. The HTTPS listener and the
 * in-process transport carry the same requests, so that a component does not depend on where its server runs.
 */
export interface ApiRequest {
  readonly method: string;
  /** Path and query as sent: `/api/v1/pods?limit=500`. */
  readonly url: string;
  /** Names in lower case. A repeated header has its first value. */
  readonly headers: Readonly<Record<string, string>>;
  /** All values of repeated headers, in order. */
  readonly repeated?: Readonly<Record<string, readonly string[]>>;
  /** Bytes from the network, or a frozen object in process. */
  readonly body?: Uint8Array | object;
  readonly credential: Credential;
  /** IP address of the client, for requests that may be proxied. */
  readonly remoteAddress?: string;
  readonly signal: AbortSignal;
}

/** An authenticated user. */
export interface UserInfo {
  readonly name: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** Credentials of a request. */
export type Credential =
  | { readonly type: "none" }
  /** A TLS peer with a certificate of our CA: common name and organizations of its subject. */
  | {
      readonly type: "certificate";
      readonly commonName: string;
      readonly organizations: readonly string[];
      readonly uid?: string;
      /** SHA-256 of the certificate, in hexadecimal digits. */
      readonly fingerprint?: string;
      /** End of its validity in milliseconds since the epoch. */
      readonly validUntil?: number;
    }
  | { readonly type: "bearer"; readonly token: string }
  /** A user that a front proxy with a verified certificate names. */
  | { readonly type: "frontProxy"; readonly user: UserInfo }
  /** A user of an in-process transport. */
  | { readonly type: "user"; readonly user: UserInfo };

export type ApiResponse = BodyResponse | WatchResponse | ByteStreamResponse | UpgradeResponse;

interface ResponseHead {
  readonly status: number;
  /** Names in lower case. A list is sent as repeated headers. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
}

/** A complete response. In process `object` is passed by reference; over the network `bytes()` is sent. */
export interface BodyResponse extends ResponseHead {
  readonly type: "body";
  /** Frozen; absent for responses without an object (`/healthz`, text). */
  readonly object?: object;
  /** Encoded once, on the first call. */
  bytes(): Uint8Array;
}

/** A watch: events until the server or the caller ends it, by its signal or by leaving the loop. */
export interface WatchResponse extends ResponseHead {
  readonly type: "watch";
  readonly events: AsyncIterable<WatchFrame>;
}

/** One event, which is encoded once for all its watchers. */
export interface WatchFrame {
  readonly event: WatchEvent<KubeObject>;
  bytes(): Uint8Array;
}

/** A stream of bytes: container logs. */
export interface ByteStreamResponse extends ResponseHead {
  readonly type: "bytes";
  readonly chunks: AsyncIterable<Uint8Array>;
}

/** A switch to another protocol: exec, attach, port-forward. Only over HTTP/1.1. */
export interface UpgradeResponse extends ResponseHead {
  readonly type: "upgrade";
  readonly status: 101;
  /**
   * Takes over the connection of the client: responds to the request on it, and uses the new protocol until
   * either side ends. `head` contains bytes after the request that were already read.
   */
  accept(socket: Duplex, head: Uint8Array): void;
  /** Called instead of `accept` if there is no connection to take over. */
  discard(): void;
}

export type WatchEventType = "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";

/** An event of a watch. The object of ERROR is a Status, that of BOOKMARK has only a resourceVersion. */
export interface WatchEvent<T> {
  readonly type: WatchEventType;
  readonly object: T;
}

/**
 * Sends requests to a server, over HTTPS or in process. Rejects with `ConnectionError` if there is no
 * response.
 */
export interface Transport {
  request(request: Omit<ApiRequest, "credential">): Promise<ApiResponse>;
  close(): void;
}

/** The server did not respond: refused, reset, timed out. Can be retried. */
export class ConnectionError extends Error {
  override readonly name = "ConnectionError";
  /** The connection was lost before the response was complete: the server may have processed the request. */
  readonly lost: boolean;

  constructor(message: string, options: { readonly cause?: unknown; readonly lost?: boolean } = {}) {
    super(message, options);
    this.lost = options.lost ?? false;
  }
}
