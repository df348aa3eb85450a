import { encodeJSON } from "@dray/api";
import { type Clock, sleep, systemClock } from "../base/clock.ts";
import { connect } from "./connect.ts";
import { aborted, type Connection, NotProcessedError, type RawResponse, withSignal } from "./connection.ts";
import type { ConnectionOptions } from "./connection-options.ts";
import { type Credentials, tokenFileSource } from "./credentials.ts";
import { type ApiRequest, ConnectionError, type Transport } from "./exchange.ts";
import { wireResponse } from "./wire-response.ts";

/** Maximum interval of a timer in milliseconds. */
const maxTimerInterval = 2 ** 31 - 1;
/**
 * How often a request that the server has not processed is retried: at once, then after this many
 * milliseconds, doubled each time. Upstream: golang.org/x/net/http2, Transport.RoundTripOpt.
 */
const maxRetries = 6;
const retryDelay = 1_000;

/**
 * A transport over one HTTP/2 connection, which is made on demand and again after a loss, or over kept-alive
 * HTTP/1.1 connections if the server does not support HTTP/2. A dead connection is detected within 30
 * seconds: all its requests reject with `ConnectionError`. From the first connection on it keeps the process
 * alive until `close`, even while the server is down.
 */
export function httpsTransport(options: ConnectionOptions & { readonly clock?: Clock }): Transport {
  const clock = options.clock ?? systemClock;
  const server = new URL(options.server);
  const prefix = server.pathname.replace(/\/$/, "");
  const source =
    options.credentials ??
    (options.tokenFile === undefined ? undefined : tokenFileSource(options.tokenFile, clock));
  const staticCredentials = credentialsOf(options);
  let current: { readonly key: string | undefined; readonly connection: Promise<Connection> } | undefined;
  const closing = new AbortController();
  /** Keeps the process alive while there is no connection. */
  let keepAlive: NodeJS.Timeout | undefined;

  const close = (old: typeof current): void => {
    old?.connection.then(
      (connection) => connection.close(),
      () => {}, // Its requests have got the error.
    );
  };

  async function connected(credentials: Credentials): Promise<Connection> {
    for (;;) {
      if (closing.signal.aborted)
        throw new ConnectionError(`the connection to ${options.server} has been closed`);
      // A client certificate belongs to the connection.
      if (current !== undefined && current.key !== credentials.key) {
        close(current);
        current = undefined;
      }
      current ??= {
        key: credentials.key,
        connection: connect(server, { options, credentials }, clock, closing.signal),
      };
      const own = current;
      const connection = await own.connection.catch((error) => {
        if (current === own) current = undefined;
        throw error;
      });
      if (closing.signal.aborted) connection.close();
      else keepAlive ??= setInterval(() => {}, maxTimerInterval);
      if (connection.usable) return connection;
      if (current === own) current = undefined;
    }
  }

  async function send(
    request: Omit<ApiRequest, "credential">,
    body: Buffer | undefined,
    refused: boolean,
  ): Promise<RawResponse> {
    const credentials =
      source === undefined ? staticCredentials : { ...staticCredentials, ...(await source.get(refused)) };
    const headers: Record<string, string> = { ...request.headers };
    if (options.disableCompression !== true) headers["accept-encoding"] ??= "gzip";
    if (credentials.token !== undefined) headers["authorization"] = `Bearer ${credentials.token}`;
    if (body !== undefined) {
      headers["content-type"] ??= "application/json";
      headers["content-length"] = String(body.length);
    }
    for (let retries = 0; ; retries++) {
      const connection = await withSignal(connected(credentials), request.signal);
      try {
        return await connection.request({
          method: request.method,
          path: prefix + request.url,
          headers,
          body,
          signal: request.signal,
        });
      } catch (error) {
        if (!(error instanceof NotProcessedError)) throw error;
        if (retries === maxRetries) throw error.error;
      }
      if (retries > 0) await sleep(clock, retryDelay * 2 ** (retries - 1), request.signal);
      if (request.signal.aborted) throw aborted(request.signal);
    }
  }

  return {
    async request(request) {
      if (request.signal.aborted) throw aborted(request.signal);
      const body = bodyOf(request);
      let response = await send(request, body, false);
      if (response.status === 401 && source !== undefined) {
        response.cancel();
        response = await send(request, body, true);
      }
      return wireResponse(request, response);
    },
    close() {
      closing.abort();
      clearInterval(keepAlive);
      close(current);
    },
  };
}

function bodyOf({ body }: Omit<ApiRequest, "credential">): Buffer | undefined {
  if (body === undefined) return undefined;
  return body instanceof Uint8Array ? Buffer.from(body) : Buffer.from(encodeJSON(body));
}

function credentialsOf({ token, cert, key }: ConnectionOptions): Credentials {
  return {
    ...(token === undefined ? {} : { token }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
  };
}
