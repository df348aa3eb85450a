import { type Clock, sleep } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import type { RateLimiter } from "../flowcontrol/rate-limiter.ts";
import { type ApiResponse, ConnectionError, type Transport } from "../transport/exchange.ts";
import { discard } from "./responses.ts";

export interface SendOptions {
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
  /** Does not log warnings of the server. */
  readonly ignoreWarnings?: boolean | undefined;
  /** The response is a stream without an end, such as a log that is followed. */
  readonly isStream?: boolean | undefined;
}

/** Sends a request and returns the response, whatever its status. Rejects with `ConnectionError`. */
export type Send = (method: string, url: string, request?: SendOptions) => Promise<ApiResponse>;

export interface SenderOptions {
  readonly transport: Transport;
  readonly userAgent: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Delays requests, except watches. */
  readonly limiter: RateLimiter | undefined;
}

const maxRetries = 10;
/** Milliseconds before a request is retried after the loss of its connection. */
const lostDelay = 1_000;

/**
 * Sends requests with the retries of client-go: up to ten if the server responds with 429 or 5xx and a
 * Retry-After in seconds, or if the connection is lost during a GET. Watches are not retried: the informer
 * starts a new one.
 *
 * Upstream: client-go, rest/with_retry.go.
 */
export function sender({ transport, userAgent, clock, log, limiter }: SenderOptions): Send {
  const never = new AbortController().signal;

  return async (method, url, request = {}) => {
    const signal = request.signal ?? never;
    const watch = isWatch(method, url);
    const pause = async (milliseconds: number): Promise<void> => {
      if (milliseconds > 0) await sleep(clock, milliseconds, signal);
      if (signal.aborted) throw new ConnectionError(`${method} ${url} was given up by its caller`);
    };
    for (let retries = 0; ; retries++) {
      if (limiter !== undefined && !watch) await pause(limiter.when(""));
      let delay: number | undefined;
      try {
        const response = await transport.request({
          method,
          url,
          headers: { accept: "application/json", "user-agent": userAgent, ...request.headers },
          ...(request.body === undefined ? {} : { body: request.body }),
          signal,
        });
        delay = retryAfter(response);
        if (delay === undefined || retries === maxRetries) {
          const warning = response.headers["warning"];
          if (warning !== undefined && !request.ignoreWarnings)
            log.warn({ method, url, warning }, "the API server warns");
          return response;
        }
        await discard(response);
      } catch (error) {
        if (!(error instanceof ConnectionError && error.lost) || method !== "GET" || watch) throw error;
        if (retries === maxRetries || signal.aborted) throw error;
        delay = lostDelay;
        log.debug({ method, url, retries, err: error }, "the connection was lost: trying again");
      }
      await pause(delay);
    }
  };
}

export function isWatch(method: string, url: string): boolean {
  return method === "GET" && /[?&]watch=(true|1)(&|$)/.test(url);
}

/** Returns the milliseconds after which the server asks for a retry; undefined if it does not. */
function retryAfter(response: ApiResponse): number | undefined {
  if (response.status !== 429 && response.status < 500) return undefined;
  const header = String(response.headers["retry-after"] ?? "");
  return /^\d+$/.test(header) ? Number(header) * 1000 : undefined;
}
