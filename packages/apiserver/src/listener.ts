import { once } from "node:events";
import {
  createSecureServer,
  type Http2SecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
} from "node:http2";
import type { TLSSocket } from "node:tls";
import type { ApiRequest, ApiResponse, Credential, Log } from "@dray/client";
import { encodeJSON } from "./codec.ts";
import { statusObject } from "./response.ts";

/** Largest body of a request, in bytes. */
export const bodyLimit = 3_145_728;

export interface ListenOptions {
  /** Loopback if absent. */
  readonly host?: string;
  /** Any free port if absent or 0. */
  readonly port?: number;
}

export interface Tls {
  readonly certificate: string;
  readonly key: string;
  /** PEM of the authority whose client certificates are believed. */
  readonly clientAuthority: string;
}

export interface Listener {
  readonly url: string;
  readonly port: number;
  /** Ends all connections, watches included. */
  close(): Promise<void>;
}

type Handle = (request: ApiRequest) => Promise<ApiResponse>;

/** Serves `handle` over HTTPS: HTTP/2, and HTTP/1.1 for those who do not speak it. */
export async function listen(handle: Handle, tls: Tls, options: ListenOptions, log: Log): Promise<Listener> {
  const server = createSecureServer({
    allowHTTP1: true,
    cert: tls.certificate,
    key: tls.key,
    ca: tls.clientAuthority,
    requestCert: true,
    // A certificate of another authority is as good as none: the request is then anonymous or has a token.
    rejectUnauthorized: false,
    minVersion: "TLSv1.2",
    settings: { maxConcurrentStreams: 1000 },
  });
  const sockets = trackSockets(server);
  server.on("request", (request, response) => {
    const gone = new AbortController();
    response.once("close", () => gone.abort());
    serve(handle, request, response, gone, log).catch((error: unknown) => {
      if (gone.signal.aborted) {
        log.debug({ error, url: request.url }, "a client has gone away");
        return;
      }
      log.error({ error, url: request.url }, "an answer could not be sent");
      if (response.headersSent) response.stream?.destroy();
      else fail(response, "InternalError", 500, "Internal error occurred: the answer could not be encoded");
    });
  });
  server.on("sessionError", (error) => log.debug({ error }, "a connection has failed"));
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

function trackSockets(server: Http2SecureServer): Set<TLSSocket> {
  const sockets = new Set<TLSSocket>();
  server.on("secureConnection", (socket: TLSSocket) => {
    sockets.add(socket);
    socket.setNoDelay(true);
    socket.on("error", () => {});
    socket.once("close", () => sockets.delete(socket));
  });
  return sockets;
}

async function serve(
  handle: Handle,
  request: Http2ServerRequest,
  response: Http2ServerResponse,
  gone: AbortController,
  log: Log,
): Promise<void> {
  response.on("error", (error) => log.debug({ error }, "a client has gone away"));
  request.on("error", () => gone.abort());
  const body = await readBody(request);
  if (body === undefined) {
    refuseBody(request, response);
    return;
  }
  const headers = headersOf(request);
  const answer = await handle({
    method: request.method,
    url: request.url,
    headers,
    body,
    credential: credentialOf(request, headers),
    signal: gone.signal,
  });
  for (const [name, value] of Object.entries(answer.headers)) {
    response.setHeader(name, typeof value === "string" ? value : [...value]);
  }
  response.statusCode = answer.status;
  if (answer.type === "body") {
    if (answer.status === 304 || request.method === "HEAD") {
      response.end();
      return;
    }
    await sendBody(request, response, answer.bytes());
    return;
  }
  response.writeHead(answer.status);
  if ("flushHeaders" in response) (response.flushHeaders as () => void)();
  const stream = answer.type === "watch" ? framesOf(answer.events) : answer.chunks;
  for await (const chunk of stream) {
    if (gone.signal.aborted) break;
    if (!response.write(chunk)) await drained(response, gone.signal);
  }
  response.end();
}

async function* framesOf(events: AsyncIterable<{ bytes(): Uint8Array }>): AsyncGenerator<Uint8Array> {
  for await (const frame of events) yield frame.bytes();
}

/** Answers of more than this are compressed for who accepts it, as upstream does. */
const compressFrom = 128 * 1024;

async function sendBody(
  request: Http2ServerRequest,
  response: Http2ServerResponse,
  bytes: Uint8Array,
): Promise<void> {
  const encodings = String(request.headers["accept-encoding"] ?? "");
  if (bytes.length >= compressFrom && /\bgzip\b/.test(encodings)) {
    const { gzip } = await import("node:zlib");
    const { promisify } = await import("node:util");
    const packed = await promisify(gzip)(bytes, { level: 1 });
    response.setHeader("content-encoding", "gzip");
    response.setHeader("vary", "Accept-Encoding");
    response.setHeader("content-length", packed.length);
    response.end(packed);
    return;
  }
  response.setHeader("content-length", bytes.length);
  response.end(bytes);
}

function drained(response: Http2ServerResponse, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.off("drain", done);
      signal.removeEventListener("abort", done);
      resolve();
    };
    response.once("drain", done);
    signal.addEventListener("abort", done, { once: true });
    if (signal.aborted) done();
  });
}

/** The whole body, or undefined if it is larger than the limit. Rejects if the client goes away. */
function readBody(request: Http2ServerRequest): Promise<Uint8Array | undefined> {
  if (Number(request.headers["content-length"] ?? 0) > bodyLimit) return Promise.resolve(undefined);
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    request.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size > bodyLimit) resolve(undefined);
      else chunks.push(chunk);
    });
    request.once("end", () => resolve(Buffer.concat(chunks)));
    request.once("error", reject);
    request.once("aborted", () => reject(new Error("the client went away before its request was complete")));
  });
}

function refuseBody(request: Http2ServerRequest, response: Http2ServerResponse): void {
  if (request.httpVersionMajor === 1) response.setHeader("connection", "close");
  fail(response, "RequestEntityTooLarge", 413, `Request entity too large: limit is ${bodyLimit}`);
  request.resume();
}

function fail(response: Http2ServerResponse, reason: string, code: number, message: string): void {
  response.statusCode = code;
  response.setHeader("content-type", "application/json");
  response.end(`${encodeJSON(statusObject({ status: "Failure", message, reason, code }))}\n`);
}

function headersOf(request: Http2ServerRequest): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(request.headers)) {
    if (name.startsWith(":") || value === undefined) continue;
    headers[name] = Array.isArray(value) ? value.join(",") : value;
  }
  return headers;
}

function credentialOf(request: Http2ServerRequest, headers: Record<string, string>): Credential {
  const token = bearerToken(headers["authorization"]);
  const socket = (request.stream?.session?.socket ?? request.socket) as TLSSocket;
  if (socket.authorized) {
    const { subject } = socket.getPeerCertificate();
    if (subject?.CN) {
      return {
        type: "certificate",
        commonName: String(subject.CN),
        organizations: ([] as string[]).concat(subject.O ?? []),
      };
    }
  }
  return token === undefined ? { type: "none" } : { type: "bearer", token };
}

/** `Bearer X`; other schemes and an empty token count as no credential. */
export function bearerToken(header: string | undefined): string | undefined {
  const match = /^bearer +(\S+)$/i.exec(header ?? "");
  return match?.[1];
}
