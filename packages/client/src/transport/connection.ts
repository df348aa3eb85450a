import { ConnectionError } from "./exchange.ts";

/** Milliseconds without data after which a connection is pinged, and within which it must respond. */
export const pingInterval = 15_000;
export const pingTimeout = 15_000;

/** A response: its head, and its body as a stream. */
export interface RawResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  /** Can be read once. Throws if the connection ends before it is complete. */
  readonly body: AsyncIterable<Uint8Array>;
  /** Discards the rest of the body. */
  cancel(): void;
}

/**
 * The server has not processed the request: any method can be retried. Not visible to callers of a transport.
 */
export class NotProcessedError extends Error {
  override readonly name = "NotProcessedError";
  /** The error if the request is not retried. */
  readonly error: ConnectionError;

  constructor(error: ConnectionError) {
    super(error.message);
    this.error = error;
  }
}

/** A request as it is sent. */
export interface WireRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: Buffer | undefined;
  readonly signal: AbortSignal;
}

/** One HTTP/2 connection, or a pool of HTTP/1.1 connections. */
export interface Connection {
  readonly usable: boolean;
  /** Rejects with `ConnectionError` or `NotProcessedError`. */
  request(request: WireRequest): Promise<RawResponse>;
  close(error?: Error): void;
}

/** The error of a request whose signal is aborted. */
export function aborted(signal: AbortSignal): ConnectionError {
  return new ConnectionError("the request has been given up by its caller", { cause: signal.reason });
}

/** Settles with the promise, or rejects when the signal aborts. */
export function withSignal<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(aborted(signal));
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}

/** The error of a lost connection or an unreachable server. */
export function lost(server: URL, cause: unknown): ConnectionError {
  const why = cause === undefined ? "closed by the server" : errorText(cause);
  const options = { cause, lost: cause === undefined || isLoss(cause) };
  return new ConnectionError(`lost the connection to ${server.origin}: ${why}`, options);
}

/** Reports whether a connection was lost, in contrast to a server that was not reached. */
function isLoss(error: unknown): boolean {
  const { code } = error as { readonly code?: string };
  return code === "ECONNRESET" || code === "EPIPE" || code?.startsWith("ERR_HTTP2_") === true;
}

export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
