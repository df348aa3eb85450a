import { once } from "node:events";
import type { Server as HttpServer, IncomingMessage } from "node:http";
import {
  createSecureServer,
  type Http2SecureServer,
  type IncomingHttpHeaders,
  type SecureServerOptions,
  type ServerHttp2Stream,
} from "node:http2";
import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import type { Clock, Log } from "@dray/client";
import { ConnectionLimit, limitHandshakes, maxConnections } from "@dray/streams";
import { FrontProxies } from "../authentication/front-proxies.ts";
import type { RequestHeader } from "../authentication/request-header.ts";
import { Http1Exchange, Http2Exchange } from "../http/exchange.ts";
import { mayUpgrade, upgradeExchange } from "../upgrade/exchange.ts";
import { credentialOf } from "./credential.ts";
import { type RequestHandler, Service } from "./serve.ts";
import { defaultTimeouts, endWhenIdle, type Timeouts } from "./timeouts.ts";
import { answerUnknownMethod } from "./unknown-method.ts";

/**
 * Maximum bytes of the headers of a request (http.DefaultMaxHeaderBytes of Go): a token or a selector may be
 * long.
 */
const maxHeaderBytes = 1 << 20;

/** Idle time in milliseconds before TCP keep-alive probes. */
const keepAliveDelay = 30_000;

export interface ListenOptions {
  /** Loopback if absent. */
  readonly host?: string;
  /** Any free port if absent or 0. */
  readonly port?: number;
  /** Timeouts for clients; upstream's values if absent. */
  readonly timeouts?: Partial<Timeouts>;
  /** Half of the files that this process may open if absent, or fewer if its memory is small. */
  readonly maxConnections?: number;
}

interface Tls {
  readonly certificate: string;
  readonly key: string;
  /** PEM of the authority of client certificates. */
  readonly clientAuthority: string;
  readonly requestHeader?: RequestHeader | undefined;
}

export interface Listener {
  readonly url: string;
  readonly port: number;
  /** Ends all connections, watches included. */
  close(): Promise<void>;
}

/** The requests' handler and the settings of a listener. */
interface ListenerParts {
  readonly handler: RequestHandler;
  readonly tls: Tls;
  readonly options: ListenOptions;
  readonly clock: Clock;
  readonly log: Log;
}

/** Serves over HTTPS: HTTP/2, and HTTP/1.1 for clients without HTTP/2. */
export async function listen({ handler, tls, options, clock, log }: ListenerParts): Promise<Listener> {
  const timeouts = { ...defaultTimeouts, ...options.timeouts };
  const proxies = tls.requestHeader && new FrontProxies(tls.requestHeader, tls.clientAuthority);
  const server = createSecureServer({
    allowHTTP1: true,
    cert: tls.certificate,
    key: tls.key,
    ca: [tls.clientAuthority, ...(tls.requestHeader ? [tls.requestHeader.clientAuthority] : [])],
    requestCert: true,
    // A certificate of another authority is ignored: the request is then anonymous or has a token.
    rejectUnauthorized: false,
    minVersion: "TLSv1.2",
    settings: { maxConcurrentStreams: 1000, maxHeaderListSize: maxHeaderBytes },
    maxHeaderSize: maxHeaderBytes,
    http1Options: {
      headersTimeout: timeouts.header,
      keepAliveTimeout: timeouts.idle,
      connectionsCheckingInterval: Math.min(timeouts.header / 4, 5_000),
    },
    // In MiB. With less, a few long lists in flight end all other streams of their connection.
    maxSessionMemory: 32,
    // The maximum that fits, at the minimum size of a header (RFC 9113, 6.5.2).
    maxHeaderListPairs: maxHeaderBytes / 32,
  } as SecureServerOptions);
  // With `allowHTTP1` it is also an HTTP/1.1 server, and its `request` events are of that protocol.
  const http1 = server as unknown as HttpServer & { shouldUpgradeCallback: typeof mayUpgrade };
  // Otherwise Node drops the last of many headers, which may be impersonation headers.
  http1.maxHeadersCount = 0;
  const sockets = trackSockets(server);
  const service = new Service({ handler, clock, log, progressTimeout: timeouts.progress, proxies });
  http1.on("request", (request, response) => service.serve(new Http1Exchange(request, response, clock)));
  http1.shouldUpgradeCallback = mayUpgrade;
  http1.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    upgradeExchange(request, socket, head, clock).then(
      (exchange) => service.serve(exchange),
      () => socket.destroy(),
    );
  });
  // A `request` listener also gets HTTP/2 requests, in objects that cost as much as the rest of a small
  // response.
  server.removeAllListeners("stream");
  server.on(
    "stream",
    (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, _flags: number, raw: string[]) => {
      if (stream.destroyed || headers[":method"] === "CONNECT") {
        stream.on("error", (error) => log.debug({ error }, "a client has gone away"));
        if (!stream.destroyed) stream.respond({ ":status": 405 }, { endStream: true });
        return;
      }
      if (headers.expect === "100-continue") stream.additionalHeaders({ ":status": 100 });
      service.serve(new Http2Exchange(stream, headers, raw));
    },
  );
  limitHandshakes(server, clock, timeouts.header);
  limitConnections(server, options, { clock, log });
  server.on("session", (session) => endWhenIdle(session, clock, timeouts.idle));
  server.on("sessionError", (error) => log.debug({ error }, "a connection has failed"));
  server.on("clientError", (error: Error, socket: TLSSocket) => {
    const answered = answerUnknownMethod(error, socket, (request) => {
      const credential = credentialOf(socket, request, { clock, proxies });
      return handler.handle({ ...request, credential, signal: new AbortController().signal });
    });
    const tooLong = "code" in error && error.code === "HPE_HEADER_OVERFLOW";
    const status = tooLong ? "431 Request Header Fields Too Large" : "400 Bad Request";
    if (!answered && socket.writable) socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\n\r\n`);
  });
  server.on("tlsClientError", (error) => log.debug({ error }, "a TLS handshake has failed"));
  const host = options.host ?? "127.0.0.1";
  server.listen(options.port ?? 0, host);
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the listener has no port");
  const shownHost = host.includes(":") ? `[${host}]` : host;
  return {
    url: `https://${shownHost}:${address.port}`,
    port: address.port,
    async close() {
      const closed = once(server, "close");
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

function limitConnections(
  server: Http2SecureServer,
  options: ListenOptions,
  { clock, log }: Pick<ListenerParts, "clock" | "log">,
): void {
  const limit = new ConnectionLimit(options.maxConnections ?? maxConnections(1 / 2));
  limit.guard(
    server,
    () => clock.now(),
    () =>
      log.warn(
        { connections: limit.max },
        "too many connections: those without a request are closed, and new ones if there are none; raise the limit of open files (`ulimit -n`) or of memory",
      ),
  );
}

function trackSockets(server: Http2SecureServer): Set<TLSSocket> {
  const sockets = new Set<TLSSocket>();
  server.on("secureConnection", (socket: TLSSocket) => {
    sockets.add(socket);
    socket.setNoDelay(true);
    // Detects clients whose machine is gone.
    socket.setKeepAlive(true, keepAliveDelay);
    socket.on("error", () => {});
    socket.once("close", () => sockets.delete(socket));
  });
  return sockets;
}
