import { promisify } from "node:util";
import type { ApiRequest, ApiResponse, Clock, Log } from "@dray/client";
import type { FrontProxies } from "../authentication/front-proxies.ts";
import { encodeJSON } from "../encoding/codec.ts";
import { statusObject } from "../errors/status.ts";
import type { Exchange, ResponseHeaders } from "../http/exchange.ts";
import { bodyLimit } from "../request/body-limit.ts";
import { BodyBudget, type BodyRoom } from "./body-budget.ts";
import { type CredentialParts, credentialOf } from "./credential.ts";
import { type BodyRefusal, declaredLength, mayBeLarge, readBody } from "./read-body.ts";
import { minRate } from "./timeouts.ts";
import { type Waiting, WaitingBytes } from "./waiting-bytes.ts";

/** Maximum total bytes of response bodies that wait for all clients: above it the response is 429. */
const maxUnsentBytes = 256 * 2 ** 20;
/**
 * Maximum bytes of an event that are written at once. The rest waits as the event itself, which all watchers
 * share; written bytes are copied and encrypted, in buffers that belong to a connection.
 */
const sliceLength = 32 * 1024;
/** Maximum total bytes that wait for all watchers. */
const maxWaitingBytes = 64 * 2 ** 20;
/** Maximum total bytes of large bodies, from their first byte to the response. */
const maxBodyBytes = 16 * 2 ** 20;
/**
 * Minimum size of responses that are compressed for clients that accept it (defaultGzipThresholdBytes of
 * kube-apiserver).
 */
const minCompressedBytes = 128 * 1024;
/**
 * Smaller responses fit into the buffers of their connection; a timer for each would cost more than they do.
 */
const minTimedBytes = 16 * 1024;

/** The handler of requests. */
export interface RequestHandler {
  handle(request: ApiRequest): Promise<ApiResponse>;
  /** Returns the response to a request that is rejected regardless of its body. */
  refusal(head: ApiRequest): ApiResponse | undefined;
}

/** Abort reason of requests. Shared, because creating an error for each would cost a stack trace. */
const ended = new Error("the exchange with the client has ended");

/** Dependencies of Service. */
interface ServiceParts {
  readonly handler: RequestHandler;
  readonly clock: Clock;
  readonly log: Log;
  /**
   * Milliseconds after which a client is disconnected that reads nothing of its watch, or sends nothing of
   * its body.
   */
  readonly progressTimeout: number;
  readonly proxies?: FrontProxies | undefined;
}

/** Serves the exchanges of one listener. */
export class Service {
  readonly #handler: RequestHandler;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #progressTimeout: number;
  readonly #proxies: FrontProxies | undefined;
  readonly #waiting: WaitingBytes;
  readonly #bodies: BodyBudget;
  /** Total bytes that the clients have not taken yet. */
  #unsent = 0;

  constructor({ handler, clock, log, progressTimeout, proxies }: ServiceParts) {
    this.#handler = handler;
    this.#clock = clock;
    this.#waiting = new WaitingBytes(clock, maxWaitingBytes);
    this.#bodies = new BodyBudget(clock, maxBodyBytes);
    this.#log = log;
    this.#progressTimeout = progressTimeout;
    this.#proxies = proxies;
  }

  /** Always ends the exchange. Never throws. */
  serve(exchange: Exchange): void {
    const { answer, body, url } = exchange;
    const away = (error: Error): void => this.#log.debug({ error, url }, "a client has gone away");
    answer.on("error", away);
    body?.on("error", away);
    this.#serve(exchange).catch((error: unknown) => {
      if (answer.destroyed) {
        this.#log.debug({ error, url }, "a client has gone away");
        return;
      }
      this.#log.error({ error, url }, "an answer could not be sent");
      if (exchange.hasBegun) exchange.abort();
      else
        fail(exchange, {
          reason: "InternalError",
          code: 500,
          message: "Internal error occurred: the answer could not be encoded",
        });
    });
  }

  async #serve(exchange: Exchange): Promise<void> {
    const request = new ExchangeRequest(exchange, { clock: this.#clock, proxies: this.#proxies });
    const refusal = mayBeLarge(exchange) ? this.#handler.refusal(request) : undefined;
    if (refusal !== undefined) exchange.discardBody();
    const response = refusal ?? (await this.#handled(exchange, request));
    if (response === undefined) return;
    if (exchange.answer.destroyed) {
      if (response.type === "upgrade") response.discard();
      return;
    }
    if (response.type === "upgrade") exchange.handOver(response);
    else if (response.type !== "body") await this.#stream(exchange, request, response);
    else if (response.status === 304 || exchange.method === "HEAD")
      exchange.sendEmpty(response.status, response.headers);
    else await this.#send(exchange, response.status, response.headers, response.bytes());
  }

  /** Returns the response to a request whose body is read first; undefined if the body was rejected. */
  async #handled(exchange: Exchange, request: ExchangeRequest): Promise<ApiResponse | undefined> {
    const bytes = declaredLength(exchange) ?? bodyLimit;
    let room: BodyRoom | undefined;
    const takeRoom = (): boolean => {
      const abort = (): void => this.#abort(exchange, "sends its body too slowly while others need room");
      room = this.#bodies.take({ bytes, abort });
      return room !== undefined;
    };
    try {
      const reading = { clock: this.#clock, progressTimeout: this.#progressTimeout, takeRoom };
      const body = await readBody(exchange, reading);
      if (!(body instanceof Uint8Array)) {
        if (!exchange.answer.destroyed) reject(exchange, body);
        return undefined;
      }
      room?.received(body.length);
      request.body = body;
      return await this.#handler.handle(request);
    } finally {
      room?.release();
    }
  }

  async #send(
    exchange: Exchange,
    status: number,
    headers: ResponseHeaders,
    bytes: Uint8Array,
  ): Promise<void> {
    const { answer } = exchange;
    const large = bytes.length > minCompressedBytes;
    if (large && this.#unsent + bytes.length > maxUnsentBytes && this.#unsent > 0) {
      fail(exchange, tooManyRequests, retryLater);
      return;
    }
    this.#unsent += bytes.length;
    const limit = this.#progressTimeout + (bytes.length / minRate) * 1000;
    const cancel =
      bytes.length > minTimedBytes ? this.#clock.after(limit, () => this.#abort(exchange)) : undefined;
    answer.once("close", () => {
      cancel?.();
      this.#unsent -= bytes.length;
    });
    const encodings = large ? (exchange.headers["accept-encoding"] ?? "").split(",") : [];
    if (!encodings.some((encoding) => encoding.trim() === "gzip")) {
      exchange.begin(status, { ...headers, "content-length": String(bytes.length) });
      exchange.end(bytes);
      return;
    }
    const { gzip } = await import("node:zlib");
    const packed = await promisify(gzip)(bytes, { level: 1 });
    if (answer.destroyed) return;
    exchange.begin(status, {
      ...headers,
      "content-encoding": "gzip",
      vary: [headers["vary"] ?? [], "Accept-Encoding"].flat(),
      "content-length": String(packed.length),
    });
    exchange.end(packed);
  }

  async #stream(
    exchange: Exchange,
    { signal }: ApiRequest,
    response: Extract<ApiResponse, { type: "watch" | "bytes" }>,
  ): Promise<void> {
    const { answer } = exchange;
    exchange.beginStream(response.status, response.headers);
    // A slow reader of a log delays nothing; for a watch, events accumulate.
    const watch = response.type === "watch";
    const limit = watch ? this.#progressTimeout : undefined;
    for await (const part of response.type === "watch" ? response.events : response.chunks) {
      if (signal.aborted) break;
      const chunk = part instanceof Uint8Array ? part : part.bytes();
      let release: (() => void) | undefined;
      let at = 0;
      for (; at < chunk.length; at += sliceLength) {
        const slice = chunk.subarray(at, at + sliceLength);
        const taken = Promise.withResolvers<void>();
        const room = answer.write(slice, () => taken.resolve());
        // Small events may be buffered together.
        if (room && at + sliceLength >= chunk.length) continue;
        if (watch) release ??= this.#waiting.hold(this.#waitingFor(exchange, chunk, () => at));
        const inTime = await within(taken.promise, signal, this.#clock, limit);
        if (signal.aborted) break;
        if (inTime) continue;
        release?.();
        this.#abort(exchange);
        return;
      }
      release?.();
    }
    exchange.end();
  }

  /**
   * `taken` returns the number of bytes of the event that are gone. Over HTTP/2, window updates of the client
   * show progress, too.
   */
  #waitingFor(exchange: Exchange, event: Uint8Array, taken: () => number): Waiting {
    const { socket } = exchange;
    return {
      event,
      copied: Math.min(event.length, sliceLength),
      progress: () => socket.bytesRead + taken(),
      abort: () => this.#abort(exchange),
    };
  }

  #abort(exchange: Exchange, why = "takes nothing of its answer"): void {
    this.#log.warn({ url: exchange.url }, `a client that ${why} was cut off`);
    exchange.abort();
  }
}

/** The request of an exchange; its body is read later. */
class ExchangeRequest implements ApiRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: ApiRequest["headers"];
  readonly repeated?: NonNullable<ApiRequest["repeated"]>;
  readonly credential: ApiRequest["credential"];
  readonly remoteAddress?: string;
  body?: Uint8Array;
  readonly #answer: Exchange["answer"];
  #disconnected: AbortController | undefined;

  constructor(exchange: Exchange, parts: CredentialParts) {
    const { method, url, headers, repeated, socket, answer } = exchange;
    this.method = method;
    this.url = url;
    this.headers = headers;
    if (repeated !== undefined) this.repeated = repeated;
    this.credential = credentialOf(socket, exchange, parts);
    if (url.includes("/proxy") && socket.remoteAddress !== undefined)
      this.remoteAddress = socket.remoteAddress;
    this.#answer = answer;
  }

  /** Created on first use: few requests use their signal. */
  get signal(): AbortSignal {
    if (this.#disconnected === undefined) {
      const disconnected = new AbortController();
      this.#disconnected = disconnected;
      if (this.#answer.destroyed) disconnected.abort(ended);
      else this.#answer.once("close", () => disconnected.abort(ended));
    }
    return this.#disconnected.signal;
  }
}

/** Resolves true when `done` does, or the client has disconnected; false after the time limit. */
function within(
  done: Promise<void>,
  signal: AbortSignal,
  clock: Clock,
  limit: number | undefined,
): Promise<boolean> {
  return new Promise((resolve) => {
    const end = (inTime: boolean): void => {
      cancel?.();
      signal.removeEventListener("abort", disconnected);
      resolve(inTime);
    };
    const disconnected = (): void => end(true);
    const cancel = limit === undefined ? undefined : clock.after(limit, () => end(false));
    signal.addEventListener("abort", disconnected, { once: true });
    done.then(disconnected);
    if (signal.aborted) disconnected();
  });
}

/** Upstream: apiserver/pkg/server/filters/maxinflight.go, tooManyRequests */
const tooManyRequests = {
  reason: "TooManyRequests",
  code: 429,
  message: "Too many requests, please try again later.",
} as const;
const retryLater = { "retry-after": "1" };
const tooLarge = {
  reason: "RequestEntityTooLarge",
  code: 413,
  message: `Request entity too large: limit is ${bodyLimit}`,
} as const;

/** Rejects a request whose body is not read. */
function reject(exchange: Exchange, reason: BodyRefusal): void {
  exchange.discardBody();
  if (reason === "TooManyRequests") fail(exchange, tooManyRequests, retryLater);
  else fail(exchange, tooLarge);
}

function fail(
  exchange: Exchange,
  { reason, code, message }: { readonly reason: string; readonly code: number; readonly message: string },
  headers: ResponseHeaders = {},
): void {
  const text = `${encodeJSON(statusObject({ status: "Failure", message, reason, code }))}\n`;
  const length = String(Buffer.byteLength(text));
  exchange.begin(code, { ...headers, "content-type": "application/json", "content-length": length });
  exchange.end(text);
}
