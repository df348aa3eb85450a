import type { Duplex } from "node:stream";
import type { KubeObject } from "@dray/api";

/**
 * The seam between clients and the API server: one request, one answer. The HTTPS adapters and the in-process
 * transport carry the same exchange, so a component cannot tell where its server runs.
 */
export interface ApiRequest {
  readonly method: string;
  /** Path and query as sent: `/api/v1/pods?limit=500`. */
  readonly url: string;
  /** Names in lower case. Of a header that came more than once, the first value counts. */
  readonly headers: Readonly<Record<string, string>>;
  /** All values, in order, of the headers that came more than once. */
  readonly repeated?: Readonly<Record<string, readonly string[]>>;
  /** Bytes from the wire, or in process a frozen object. */
  readonly body?: Uint8Array | object;
  readonly credential: Credential;
  /** IP address of the client, for requests that may be passed on to another server. */
  readonly remoteAddress?: string;
  readonly signal: AbortSignal;
}

/** Who a user is, after authentication. */
export interface UserInfo {
  readonly name: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** What a request offers to be authenticated by. */
export type Credential =
  | { readonly type: "none" }
  /** A TLS peer whose certificate our CA has signed: common name and organizations of its subject. */
  | {
      readonly type: "certificate";
      readonly commonName: string;
      readonly organizations: readonly string[];
      readonly uid?: string;
      /** SHA-256 of the certificate, in hexadecimal digits. */
      readonly fingerprint?: string;
    }
  | { readonly type: "bearer"; readonly token: string }
  /** Named by a front proxy whose certificate has been verified. */
  | { readonly type: "frontProxy"; readonly user: UserInfo }
  /** Made in process for a named user. */
  | { readonly type: "user"; readonly user: UserInfo };

export type ApiResponse = BodyResponse | WatchResponse | ByteStreamResponse | UpgradeResponse;

interface ResponseHead {
  readonly status: number;
  /** Names in lower case; a list is sent as repeated headers. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
}

/** A whole answer. In process `object` is handed over as it is; on the wire `bytes()` is sent. */
export interface BodyResponse extends ResponseHead {
  readonly type: "body";
  /** Frozen; absent for answers that are no objects (`/healthz`, text). */
  readonly object?: object;
  /** Made once, when first asked for. */
  bytes(): Uint8Array;
}

/** A watch: events until the server or the caller (by its signal, or by leaving the loop) ends it. */
export interface WatchResponse extends ResponseHead {
  readonly type: "watch";
  readonly events: AsyncIterable<WatchFrame>;
}

/** One event; its bytes are made once however many watchers it has. */
export interface WatchFrame {
  readonly event: WatchEvent<KubeObject>;
  bytes(): Uint8Array;
}

/** Bytes as they come: container logs. */
export interface ByteStreamResponse extends ResponseHead {
  readonly type: "bytes";
  readonly chunks: AsyncIterable<Uint8Array>;
}

/** A connection that goes on in another protocol: exec, attach, port-forward. Only HTTP/1.1 can carry it. */
export interface UpgradeResponse extends ResponseHead {
  readonly type: "upgrade";
  readonly status: 101;
  /**
   * Takes over the client's connection: answers the request on it, and speaks the new protocol until either side ends.
   * `head` are bytes behind the request that were read already.
   */
  accept(socket: Duplex, head: Uint8Array): void;
  /** Instead of `accept`, where there is no connection to take over. */
  discard(): void;
}

export type WatchEventType = "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";

/** An event of a watch. The object of ERROR is a Status, that of BOOKMARK carries only a resourceVersion. */
export interface WatchEvent<T> {
  readonly type: WatchEventType;
  readonly object: T;
}

/** Carries exchanges to a server: HTTPS or in process. Rejects with `ConnectionError` when there is no answer. */
export interface Transport {
  request(request: Omit<ApiRequest, "credential">): Promise<ApiResponse>;
  close(): void;
}

/** There was no answer: refused, reset, timed out. Always worth trying again. */
export class ConnectionError extends Error {
  override readonly name = "ConnectionError";
  /** There was a connection, and it broke off before the answer was complete: the request may have been carried out. */
  readonly lost: boolean;

  constructor(message: string, options: { readonly cause?: unknown; readonly lost?: boolean } = {}) {
    super(message, options);
    this.lost = options.lost ?? false;
  }
}
