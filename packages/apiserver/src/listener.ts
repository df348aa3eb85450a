import { once } from "node:events";
import type { Server as HttpServer } from "node:http";
import {
  createSecureServer,
  type Http2SecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type SecureServerOptions,
} from "node:http2";
import type { TLSSocket } from "node:tls";
import type { ApiRequest, ApiResponse, Log } from "@dray/client";
import { encodeJSON } from "./codec.ts";
import { credentialOf } from "./credential.ts";
import { headersOf } from "./request/headers.ts";
import { statusObject } from "./response.ts";
import { answerUnknownMethod } from "./unknown-method.ts";

/** Largest body of a request, in bytes. */
export const bodyLimit = 3_145_728;
/** Bytes of the headers of a request (http.DefaultMaxHeaderBytes of Go): a token or a selector may be long. */
const headerLimit = 1 << 20;
/** Bytes of bodies that may wait for their readers, all clients together: above it 429 is answered instead. */
const unsentLimit = 256 * 2 ** 20;
/** A body that may be larger is only read after its sender has shown that he may send it. */
const trustedBody = 64 * 1024;

export interface ListenOptions {
  /** Loopback if absent. */
  readonly host?: string;
  /** Any free port if absent or 0. */
  readonly port?: number;
  /** Milliseconds after which a client is cut off that takes nothing of its watch, or owes its body; a minute if absent. */
  readonly patience?: number;
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

/** What answers the requests. */
export interface Answering {
  handle(request: ApiRequest): Promise<ApiResponse>;
  /** The answer to a request without its body, if that is refused whatever the body says. */
  refusal(head: ApiRequest): ApiResponse | undefined;
}

/** Serves over HTTPS: HTTP/2, and HTTP/1.1 for those who do not speak it. */
export async function listen(
  answering: Answering,
  tls: Tls,
  options: ListenOptions,
  log: Log,
): Promise<Listener> {
  const server = createSecureServer({
    allowHTTP1: true,
    cert: tls.certificate,
    key: tls.key,
    ca: tls.clientAuthority,
    requestCert: true,
    // A certificate of another authority is as good as none: the request is then anonymous or has a token.
    rejectUnauthorized: false,
    minVersion: "TLSv1.2",
    settings: { maxConcurrentStreams: 1000, maxHeaderListSize: headerLimit },
    maxHeaderSize: headerLimit,
    // In MiB. With less, a few long lists on their way end all other streams of their connection.
    maxSessionMemory: 32,
    // As many as fit, for the least that one takes (RFC 9113, 6.5.2).
    maxHeaderListPairs: headerLimit / 32,
  } as SecureServerOptions);
  // Else Node leaves out the last of many headers, which may say in whose name the request is.
  (server as unknown as HttpServer).maxHeadersCount = 0;
  const sockets = trackSockets(server);
  const unsent: Unsent = { bytes: 0 };
  server.on("request", (request, response) => {
    const gone = new AbortController();
    response.once("close", () => gone.abort(ended));
    serve(answering, request, response, gone, log, options.patience ?? 60_000, unsent).catch(
      (error: unknown) => {
        if (gone.signal.aborted) {
          log.debug({ error, url: request.url }, "a client has gone away");
          return;
        }
        log.error({ error, url: request.url }, "an answer could not be sent");
        if (response.headersSent) response.stream?.destroy();
        else fail(response, "InternalError", 500, "Internal error occurred: the answer could not be encoded");
      },
    );
  });
  server.on("sessionError", (error) => log.debug({ error }, "a connection has failed"));
  server.on("clientError", (error: Error, socket: TLSSocket) => {
    const answered = answerUnknownMethod(error, socket, (request) => {
      const credential = credentialOf(socket, request.headers);
      return answering.handle({ ...request, credential, signal: new AbortController().signal });
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

/** Why the signal of a request is aborted. One for all: an error of its own for each would cost a stack trace. */
const ended = new Error("the exchange with the client has ended");

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
  answering: Answering,
  request: Http2ServerRequest,
  response: Http2ServerResponse,
  gone: AbortController,
  log: Log,
  patience: number,
  unsent: Unsent,
): Promise<void> {
  response.on("error", (error) => log.debug({ error }, "a client has gone away"));
  request.on("error", () => gone.abort(ended));
  const { headers, repeated } = headersOf(request.rawHeaders);
  const head = {
    method: request.method,
    url: request.url,
    headers,
    ...(repeated === undefined ? {} : { repeated }),
    credential: credentialOf((request.stream?.session?.socket ?? request.socket) as TLSSocket, headers),
    signal: gone.signal,
  };
  let answer = mayBeLarge(request) ? answering.refusal(head) : undefined;
  if (answer === undefined) {
    const body = await readBody(request, patience);
    if (body === undefined) {
      refuseBody(request, response);
      return;
    }
    answer = await answering.handle({ ...head, body });
  } else leaveBody(request, response);
  for (const [name, value] of Object.entries(answer.headers)) {
    response.setHeader(name, typeof value === "string" ? value : [...value]);
  }
  response.statusCode = answer.status;
  if (answer.type === "body") {
    if (answer.status === 304 || request.method === "HEAD") {
      response.end();
      return;
    }
    if (!gone.signal.aborted) await sendBody(request, response, answer.bytes(), unsent);
    return;
  }
  response.writeHead(answer.status);
  if ("flushHeaders" in response) (response.flushHeaders as () => void)();
  // Who reads a log slowly holds up nothing of ours; a watch holds on to what has happened since.
  const [stream, limit] =
    answer.type === "watch" ? [framesOf(answer.events), patience] : [answer.chunks, undefined];
  for await (const chunk of stream) {
    if (gone.signal.aborted) break;
    if (response.write(chunk) || (await drained(response, gone.signal, limit))) continue;
    log.warn({ url: request.url }, "a client that takes nothing of its watch was cut off");
    if (request.httpVersionMajor === 1) request.socket.destroy();
    else response.stream.destroy();
    return;
  }
  response.end();
}

async function* framesOf(events: AsyncIterable<{ bytes(): Uint8Array }>): AsyncGenerator<Uint8Array> {
  for await (const frame of events) yield frame.bytes();
}

/** How much all the clients of a listener have yet to take. */
interface Unsent {
  bytes: number;
}

/** Answers of more bytes than this are compressed for who accepts it (defaultGzipThresholdBytes of kube-apiserver). */
const compressAbove = 128 * 1024;

async function sendBody(
  request: Http2ServerRequest,
  response: Http2ServerResponse,
  bytes: Uint8Array,
  unsent: Unsent,
): Promise<void> {
  if (bytes.length > compressAbove && unsent.bytes + bytes.length > unsentLimit && unsent.bytes > 0) {
    response.setHeader("retry-after", "1");
    fail(response, "TooManyRequests", 429, "Too many requests, please try again later.");
    return;
  }
  unsent.bytes += bytes.length;
  response.once("close", () => {
    unsent.bytes -= bytes.length;
  });
  const encodings = String(request.headers["accept-encoding"] ?? "").split(",");
  if (bytes.length > compressAbove && encodings.some((encoding) => encoding.trim() === "gzip")) {
    const { gzip } = await import("node:zlib");
    const { promisify } = await import("node:util");
    const packed = await promisify(gzip)(bytes, { level: 1 });
    response.setHeader("content-encoding", "gzip");
    const vary = [response.getHeader("vary") ?? []].flat();
    response.setHeader("vary", [...vary.map(String), "Accept-Encoding"]);
    response.setHeader("content-length", packed.length);
    response.end(packed);
    return;
  }
  response.setHeader("content-length", bytes.length);
  response.end(bytes);
}

/** Resolves true when more can be written, or the client has gone; false if neither happens within the limit. */
function drained(
  response: Http2ServerResponse,
  signal: AbortSignal,
  limit: number | undefined,
): Promise<boolean> {
  return new Promise((resolve) => {
    const end = (drained: boolean): void => {
      clearTimeout(timer);
      response.off("drain", done);
      signal.removeEventListener("abort", done);
      resolve(drained);
    };
    const done = (): void => end(true);
    const timer = limit === undefined ? undefined : setTimeout(() => end(false), limit);
    response.once("drain", done);
    signal.addEventListener("abort", done, { once: true });
    if (signal.aborted) done();
  });
}

/** Whether the body may be large: one of unknown length may be. */
function mayBeLarge(request: Http2ServerRequest): boolean {
  const { "content-length": length, "transfer-encoding": encoding } = request.headers;
  if (length !== undefined) return Number(length) > trustedBody;
  return request.httpVersionMajor === 1 ? encoding !== undefined : !request.stream.endAfterHeaders;
}

/** The whole body, or undefined if it is larger than the limit. Rejects if the client goes away or takes too long. */
function readBody(request: Http2ServerRequest, patience: number): Promise<Uint8Array | undefined> {
  if (Number(request.headers["content-length"] ?? 0) > bodyLimit) return Promise.resolve(undefined);
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const late = setTimeout(() => {
      reject(new Error("the client did not complete its request in time"));
      if (request.httpVersionMajor === 1) request.socket.destroy();
      else request.stream.destroy();
    }, patience);
    request.once("close", () => clearTimeout(late));
    request.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size > bodyLimit) resolve(undefined);
      else chunks.push(chunk);
    });
    request.once("end", () => {
      clearTimeout(late);
      resolve(Buffer.concat(chunks));
    });
    request.once("error", reject);
    request.once("aborted", () => reject(new Error("the client went away before its request was complete")));
  });
}

function refuseBody(request: Http2ServerRequest, response: Http2ServerResponse): void {
  leaveBody(request, response);
  fail(response, "RequestEntityTooLarge", 413, `Request entity too large: limit is ${bodyLimit}`);
}

/** What is still to come of the request is thrown away. */
function leaveBody(request: Http2ServerRequest, response: Http2ServerResponse): void {
  if (request.httpVersionMajor === 1) response.setHeader("connection", "close");
  request.resume();
}

function fail(response: Http2ServerResponse, reason: string, code: number, message: string): void {
  response.statusCode = code;
  response.setHeader("content-type", "application/json");
  response.end(`${encodeJSON(statusObject({ status: "Failure", message, reason, code }))}\n`);
}
