import { once } from "node:events";
import type * as http2 from "node:http2";
import type { Readable } from "node:stream";
import type { TLSSocket } from "node:tls";
import type { KubeObject } from "@dray/api";
import { type Clock, systemClock } from "./clock.ts";
import { type CredentialSource, type Credentials, tokenFileSource } from "./credentials.ts";
import {
  type ApiRequest,
  type ApiResponse,
  ConnectionError,
  type Transport,
  type WatchEvent,
  type WatchFrame,
} from "./exchange.ts";
import { deepFreeze, parseJSON, writeJSON } from "./json.ts";
import { lines } from "./lines.ts";

/** How to reach one API server as one user. PEM texts throughout. */
export interface ConnectionOptions {
  /** `https://127.0.0.1:6443`; a path is put in front of every request, `http://` speaks without TLS. */
  readonly server: string;
  /** The authority that must have signed the server's certificate; the system's if absent. */
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly token?: string;
  /** Read again when it changes. */
  readonly tokenFile?: string;
  /** Takes the place of `token` and `tokenFile`. */
  readonly credentials?: CredentialSource;
  readonly insecureSkipTlsVerify?: boolean;
  readonly tlsServerName?: string;
}

/** Milliseconds of silence after which a connection is asked whether it lives, and within which it must answer. */
const pingInterval = 15_000;
const connectTimeout = 30_000;
const longestInterval = 2 ** 31 - 1;
const streamWindow = 1 << 20;
const sessionWindow = 16 << 20;

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body: Readable;
  /** Gives up what has not been read yet. */
  cancel(): void;
}

interface Link {
  readonly usable: boolean;
  exchange(
    method: string,
    path: string,
    headers: Record<string, string>,
    body: Buffer | undefined,
    signal: AbortSignal,
  ): Promise<Answer>;
  close(error?: ConnectionError): void;
}

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
  let closed = false;
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
      if (closed) throw new ConnectionError(`the connection to ${options.server} has been closed`);
      if (link !== undefined && link.key !== credentials.key) {
        close(link);
        link = undefined;
      }
      link ??= { key: credentials.key, made: connect(server, options, credentials, clock) };
      const current = link;
      const made = await current.made.catch((error) => {
        if (link === current) link = undefined;
        throw error;
      });
      if (closed) made.close();
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
    if (credentials.token !== undefined) headers["authorization"] = `Bearer ${credentials.token}`;
    if (body !== undefined) {
      headers["content-type"] ??= "application/json";
      headers["content-length"] = String(body.length);
    }
    const over = await withSignal(connected(credentials), request.signal);
    return over.exchange(request.method, prefix + request.url, headers, body, request.signal);
  }

  return {
    async request(request) {
      if (request.signal.aborted) throw aborted(request.signal);
      const body =
        request.body === undefined
          ? undefined
          : request.body instanceof Uint8Array
            ? Buffer.from(request.body)
            : Buffer.from(writeJSON(request.body));
      let answer = await exchange(request, body, false);
      if (answer.status === 401 && source !== undefined) {
        answer.cancel();
        answer = await exchange(request, body, true);
      }
      return response(request, answer);
    },
    close() {
      closed = true;
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

function aborted(signal: AbortSignal): ConnectionError {
  return new ConnectionError("the request has been given up by its caller", { cause: signal.reason });
}

function withSignal<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(aborted(signal));
    signal.addEventListener("abort", stop, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}

async function connect(
  server: URL,
  options: ConnectionOptions,
  credentials: Credentials,
  clock: Clock,
): Promise<Link> {
  if (server.protocol === "http:") return http1Link(server, {});
  const tls = await import("node:tls");
  const port = Number(server.port === "" ? 443 : server.port);
  const host = server.hostname.replace(/^\[|\]$/g, "");
  const security = {
    ...(options.ca === undefined ? {} : { ca: options.ca }),
    ...(credentials.cert === undefined ? {} : { cert: credentials.cert }),
    ...(credentials.key === undefined ? {} : { key: credentials.key }),
    rejectUnauthorized: options.insecureSkipTlsVerify !== true,
    // An address is no legal server name indication.
    ...(options.tlsServerName !== undefined
      ? { servername: options.tlsServerName }
      : /^[\d.]+$|:/.test(host)
        ? {}
        : { servername: host }),
  };
  const socket = tls.connect({ host, port, ALPNProtocols: ["h2", "http/1.1"], ...security });
  const cancel = clock.after(connectTimeout, () => socket.destroy(new Error("no answer within 30 s")));
  try {
    await once(socket, "secureConnect");
  } catch (error) {
    throw new ConnectionError(`cannot connect to ${server.origin}: ${text(error)}`, { cause: error });
  } finally {
    cancel();
  }
  socket.setNoDelay(true);
  socket.setKeepAlive(true, pingInterval);
  if (socket.alpnProtocol === "h2") return http2Link(server, socket, clock);
  socket.destroy();
  return http1Link(server, security);
}

async function http2Link(server: URL, socket: TLSSocket, clock: Clock): Promise<Link> {
  const { connect, constants } = await import("node:http2");
  const session = connect(server.origin, {
    createConnection: () => socket,
    settings: { enablePush: false, initialWindowSize: streamWindow },
    maxSessionMemory: 1000,
  });
  session.once("connect", () => {
    if (!session.destroyed) session.setLocalWindowSize(sessionWindow);
  });
  let failure: unknown;
  session.on("error", (error) => {
    failure = error;
  });
  watchLife(session, socket, clock);

  return {
    get usable() {
      return !session.closed && !session.destroyed;
    },
    exchange(method, path, headers, body, signal) {
      return new Promise((resolve, reject) => {
        let stream: http2.ClientHttp2Stream;
        try {
          stream = session.request(
            { ":method": method, ":path": path, ...headers },
            { endStream: body === undefined },
          );
        } catch (error) {
          return reject(lost(server, error));
        }
        const cancel = (): void => {
          if (!stream.closed) stream.close(constants.NGHTTP2_CANCEL);
          stream.destroy();
        };
        signal.addEventListener("abort", cancel, { once: true });
        stream.once("close", () => {
          signal.removeEventListener("abort", cancel);
          // Nothing happens if the answer has begun.
          reject(signal.aborted ? aborted(signal) : lost(server, failure));
        });
        stream.on("error", (error) => {
          failure ??= error;
        });
        stream.once("response", (fields) => {
          const status = Number(fields[":status"]);
          const head: Record<string, string | readonly string[]> = {};
          for (const [name, value] of Object.entries(fields))
            if (value !== undefined && !name.startsWith(":")) head[name] = value;
          resolve({ status, headers: head, body: stream, cancel });
        });
        if (body !== undefined) stream.end(body);
      });
    },
    close(error) {
      session.destroy(error);
    },
  };
}

/** Pings a silent connection and ends it if no answer comes. */
function watchLife(session: http2.ClientHttp2Session, socket: TLSSocket, clock: Clock): void {
  let read = socket.bytesRead;
  const check = (): void => {
    if (session.destroyed) return;
    if (socket.bytesRead !== read) {
      read = socket.bytesRead;
      cancel = clock.after(pingInterval, check);
      return;
    }
    const giveUp = clock.after(pingInterval, () =>
      session.destroy(new Error(`no answer to a ping for ${pingInterval / 1000} s`)),
    );
    cancel = giveUp;
    session.ping((error) => {
      giveUp();
      if (error !== null) return;
      read = socket.bytesRead;
      cancel = clock.after(pingInterval, check);
    });
  };
  let cancel = clock.after(pingInterval, check);
  session.once("close", () => cancel());
}

async function http1Link(server: URL, security: object): Promise<Link> {
  const http = server.protocol === "http:" ? await import("node:http") : await import("node:https");
  const agent = new http.Agent({ keepAlive: true, keepAliveMsecs: pingInterval, ...security });
  return {
    usable: true,
    exchange(method, path, headers, body, signal) {
      return new Promise((resolve, reject) => {
        const request = http.request(
          { agent, method, path, headers, host: server.hostname.replace(/^\[|\]$/g, ""), port: server.port },
          (answer) => {
            const head: Record<string, string | readonly string[]> = {};
            for (const [name, values] of Object.entries(answer.headersDistinct))
              if (values !== undefined) head[name] = values.length === 1 ? (values[0] ?? "") : values;
            const cancel = (): void => {
              answer.destroy();
            };
            resolve({ status: answer.statusCode ?? 0, headers: head, body: answer, cancel });
          },
        );
        const stop = (): void => {
          request.destroy();
        };
        signal.addEventListener("abort", stop, { once: true });
        request.once("close", () => signal.removeEventListener("abort", stop));
        request.on("error", (error) => reject(signal.aborted ? aborted(signal) : lost(server, error)));
        request.end(body);
      });
    },
    close() {
      agent.destroy();
    },
  };
}

function lost(server: URL, cause: unknown): ConnectionError {
  const why = cause === undefined ? "closed by the server" : text(cause);
  return new ConnectionError(`lost the connection to ${server.origin}: ${why}`, { cause });
}

function text(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

async function response(request: Omit<ApiRequest, "credential">, answer: Answer): Promise<ApiResponse> {
  const { status, headers } = answer;
  const type = String(headers["content-type"] ?? "");
  if (!/^application\/json\b/.test(type)) {
    return { type: "bytes", status, headers, chunks: chunks(request, answer) };
  }
  if (status === 200 && isWatch(request)) {
    return { type: "watch", status, headers, events: frames(request, answer) };
  }
  const parts: Uint8Array[] = [];
  for await (const chunk of chunks(request, answer)) parts.push(chunk);
  const bytes = parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts);
  if (request.signal.aborted) throw aborted(request.signal);
  return { type: "body", status, headers, object: decode(bytes, request.url), bytes: () => bytes };
}

function isWatch(request: Omit<ApiRequest, "credential">): boolean {
  if (request.method !== "GET" || !request.url.includes("watch=")) return false;
  const value = new URLSearchParams(request.url.slice(request.url.indexOf("?") + 1)).get("watch");
  return value !== null && value !== "false" && value !== "0";
}

/** The bytes as they come. Ends when the caller's signal aborts; rejects when the connection is lost. */
async function* chunks(
  request: Omit<ApiRequest, "credential">,
  answer: Answer,
): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    for await (const chunk of answer.body) yield chunk as Buffer;
    // Node ends a stream whose connection is lost as if it were complete; only its reset code tells.
    if (!request.signal.aborted && "rstCode" in answer.body && answer.body.rstCode !== 0)
      throw new Error("the connection broke off");
  } catch (error) {
    if (request.signal.aborted) return;
    throw new ConnectionError(`lost the connection during ${request.method} ${request.url}: ${text(error)}`, {
      cause: error,
    });
  } finally {
    answer.cancel();
  }
}

async function* frames(
  request: Omit<ApiRequest, "credential">,
  answer: Answer,
): AsyncGenerator<WatchFrame, void, undefined> {
  for await (const line of lines(chunks(request, answer))) {
    const event = decode(line, request.url) as WatchEvent<KubeObject>;
    yield { event, bytes: () => Buffer.concat([line, newline]) };
  }
}

const newline = Buffer.from("\n");

function decode(bytes: Buffer, url: string): object {
  let value: unknown;
  try {
    value = parseJSON(bytes.toString("utf8"));
  } catch (error) {
    throw new ConnectionError(`the answer to ${url} is no JSON: ${text(error)}`, { cause: error });
  }
  if (typeof value !== "object" || value === null) {
    throw new ConnectionError(`the answer to ${url} is no object: ${bytes.toString("utf8", 0, 80)}`);
  }
  return deepFreeze(value);
}
