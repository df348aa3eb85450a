import { encodeJSON } from "@dray/api";
import { type Clock, sleep, systemClock } from "../clock.ts";
import { connect } from "./connect.ts";
import { type Answer, aborted, type Link, NotBegunError, withSignal } from "./connection.ts";
import type { ConnectionOptions } from "./connection-options.ts";
import { type Credentials, tokenFileSource } from "./credentials.ts";
import { type ApiRequest, ConnectionError, type Transport } from "./exchange.ts";
import { response } from "./wire-response.ts";

const longestInterval = 2 ** 31 - 1;
/**
 * How often a request is sent again that the server has not looked at: at once, then after this many milliseconds,
 * doubled each time. Upstream: golang.org/x/net/http2, Transport.RoundTripOpt.
 */
const maxRetries = 6;
const retryDelay = 1_000;

/**
 * Carries exchanges over one HTTP/2 connection, made when first needed and again after a loss; over kept-alive
 * HTTP/1.1 connections where the server has no HTTP/2. A dead connection is noticed within 30 seconds, and
 * everything that waits for it rejects with `ConnectionError`. From the first connection on it keeps the process
 * alive until `close`, also while the server is away.
 */
export function httpsTransport(options: ConnectionOptions & { readonly clock?: Clock }): Transport {
  const clock = options.clock ?? systemClock;
  const server = new URL(options.server);
  const prefix = server.pathname.replace(/\/$/, "");
  const source =
    options.credentials ??
    (options.tokenFile === undefined ? undefined : tokenFileSource(options.tokenFile, clock));
  const fixed: Credentials = pick(options);
  let link: { readonly key: string | undefined; readonly made: Promise<Link> } | undefined;
  const closing = new AbortController();
  /** Holds the process between two connections, as the connections themselves do. */
  let keeper: NodeJS.Timeout | undefined;

  const close = (old: typeof link): void => {
    old?.made.then(
      (made) => made.close(),
      () => {}, // It never came to be; whoever waited for it has been told.
    );
  };

  async function connected(credentials: Credentials): Promise<Link> {
    for (;;) {
      if (closing.signal.aborted)
        throw new ConnectionError(`the connection to ${options.server} has been closed`);
      if (link !== undefined && link.key !== credentials.key) {
        close(link);
        link = undefined;
      }
      link ??= { key: credentials.key, made: connect(server, options, credentials, clock, closing.signal) };
      const current = link;
      const made = await current.made.catch((error) => {
        if (link === current) link = undefined;
        throw error;
      });
      if (closing.signal.aborted) made.close();
      else keeper ??= setInterval(() => {}, longestInterval);
      if (made.usable) return made;
      if (link === current) link = undefined;
    }
  }

  async function exchange(
    request: Omit<ApiRequest, "credential">,
    body: Buffer | undefined,
    refused: boolean,
  ): Promise<Answer> {
    const credentials = source === undefined ? fixed : { ...fixed, ...(await source.get(refused)) };
    const headers: Record<string, string> = { ...request.headers };
    if (options.disableCompression !== true) headers["accept-encoding"] ??= "gzip";
    if (credentials.token !== undefined) headers["authorization"] = `Bearer ${credentials.token}`;
    if (body !== undefined) {
      headers["content-type"] ??= "application/json";
      headers["content-length"] = String(body.length);
    }
    for (let retries = 0; ; retries++) {
      const over = await withSignal(connected(credentials), request.signal);
      try {
        return await over.exchange(request.method, prefix + request.url, headers, body, request.signal);
      } catch (error) {
        if (!(error instanceof NotBegunError)) throw error;
        if (retries === maxRetries) throw error.error;
      }
      if (retries > 0) await sleep(clock, retryDelay * 2 ** (retries - 1), request.signal);
      if (request.signal.aborted) throw aborted(request.signal);
    }
  }

  return {
    async request(request) {
      if (request.signal.aborted) throw aborted(request.signal);
      const body =
        request.body === undefined
          ? undefined
          : request.body instanceof Uint8Array
            ? Buffer.from(request.body)
            : Buffer.from(encodeJSON(request.body));
      let answer = await exchange(request, body, false);
      if (answer.status === 401 && source !== undefined) {
        answer.cancel();
        answer = await exchange(request, body, true);
      }
      return response(request, answer);
    },
    close() {
      closing.abort();
      clearInterval(keeper);
      close(link);
    },
  };
}

function pick(options: ConnectionOptions): Credentials {
  return {
    ...(options.token === undefined ? {} : { token: options.token }),
    ...(options.cert === undefined ? {} : { cert: options.cert }),
    ...(options.key === undefined ? {} : { key: options.key }),
  };
}
