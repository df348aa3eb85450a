import { ConnectionError } from "./exchange.ts";

/** Milliseconds of silence after which a connection is asked whether it lives, and within which it must answer. */
export const pingInterval = 15_000;
export const pingTimeout = 15_000;

/** The head of an answer, and its body as it comes. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  /** Throws where it ends before it is complete. Read once. */
  readonly body: AsyncIterable<Uint8Array>;
  /** Gives up what has not been read yet. */
  cancel(): void;
}

/** The server has not looked at the request: it may be sent again, whatever it does. Only between links and transport. */
export class NotBegunError extends Error {
  override readonly name = "NotBegunError";
  /** What the caller gets if it is not sent again. */
  readonly error: ConnectionError;

  constructor(error: ConnectionError) {
    super(error.message);
    this.error = error;
  }
}

/** A way to a server, over connections that are made already or as they are needed. */
export interface Link {
  readonly usable: boolean;
  /** Rejects with `ConnectionError`, or with `NotBegunError`. */
  exchange(
    method: string,
    path: string,
    headers: Record<string, string>,
    body: Buffer | undefined,
    signal: AbortSignal,
  ): Promise<Answer>;
  close(error?: Error): void;
}

/** Why a request ends that its caller has given up. */
export function aborted(signal: AbortSignal): ConnectionError {
  return new ConnectionError("the request has been given up by its caller", { cause: signal.reason });
}

/** What the promise comes to, or the end of waiting for it when the signal aborts. */
export function withSignal<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(aborted(signal));
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}

/** The loss of a connection, or a server that could not be reached. */
export function lost(server: URL, cause: unknown): ConnectionError {
  const why = cause === undefined ? "closed by the server" : text(cause);
  const options = { cause, lost: cause === undefined || isLoss(cause) };
  return new ConnectionError(`lost the connection to ${server.origin}: ${why}`, options);
}

/** Reset, cut or ended on the way, in contrast to a server that was never reached. */
function isLoss(error: unknown): boolean {
  const { code } = error as { readonly code?: string };
  return code === "ECONNRESET" || code === "EPIPE" || code?.startsWith("ERR_HTTP2_") === true;
}

export function text(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
