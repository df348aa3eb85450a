import { type Clock, sleep } from "../clock.ts";
import type { Log } from "../log.ts";
import type { RateLimiter } from "../tools/rate-limiter.ts";
import { type ApiResponse, ConnectionError, type Transport } from "../transport/exchange.ts";
import { discard } from "./responses.ts";

export interface SendOptions {
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
  /** Warnings of the server are not logged. */
  readonly ignoreWarnings?: boolean | undefined;
}

/** A request and its answer, whatever the status. Rejects with `ConnectionError`. */
export type Send = (method: string, url: string, request?: SendOptions) => Promise<ApiResponse>;

interface Surroundings {
  readonly transport: Transport;
  readonly userAgent: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Holds requests back; watches are never held back. */
  readonly limiter: RateLimiter | undefined;
}

const mostRetries = 10;
/** Milliseconds to wait after a connection has been lost, which names no time to come back. */
const lostDelay = 1_000;

/**
 * Sends as client-go does: up to ten times more if the server refuses with 429 or 5xx and a Retry-After in seconds, or
 * if the connection is lost during a GET. A watch that is lost is the informer's to take up again.
 */
export function sender({ transport, userAgent, clock, log, limiter }: Surroundings): Send {
  const forever = new AbortController().signal;

  return async (method, url, request = {}) => {
    const signal = request.signal ?? forever;
    const watch = method === "GET" && /[?&]watch=(true|1)(&|$)/.test(url);
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
        if (delay === undefined || retries === mostRetries) {
          const warning = response.headers["warning"];
          if (warning !== undefined && !request.ignoreWarnings)
            log.warn({ method, url, warning }, "the API server warns");
          return response;
        }
        await discard(response);
      } catch (error) {
        if (!(error instanceof ConnectionError && error.lost) || method !== "GET" || watch) throw error;
        if (retries === mostRetries || signal.aborted) throw error;
        delay = lostDelay;
        log.debug({ method, url, retries, err: error }, "the connection was lost: trying again");
      }
      await pause(delay);
    }
  };
}

/** Milliseconds to wait before trying again, if the server asks for that. */
function retryAfter(response: ApiResponse): number | undefined {
  if (response.status !== 429 && response.status < 500) return undefined;
  const header = String(response.headers["retry-after"] ?? "");
  return /^\d+$/.test(header) ? Number(header) * 1000 : undefined;
}
