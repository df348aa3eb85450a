import type { IncomingMessage, ServerResponse } from "node:http";
import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import type { Readable, Writable } from "node:stream";
import { finished } from "node:stream/promises";
import type { TLSSocket } from "node:tls";
import type { ApiRequest, Clock, UpgradeResponse } from "@dray/client";
import { headersOf } from "../request/headers.ts";

/**
 * Milliseconds for which the rest of a body is read after the response. Closing a connection with unread data
 * resets it, and the client may lose the response (RFC 9112, 9.6).
 */
const lingerTimeout = 5_000;

/** Names in lower case. */
export type ResponseHeaders = Readonly<Record<string, string | readonly string[]>>;

/** A request on its connection, and the way to respond to it; the same for HTTP/2 and HTTP/1.1. */
export interface Exchange extends Pick<ApiRequest, "method" | "url" | "headers" | "repeated"> {
  readonly socket: TLSSocket;
  /** The body; undefined if the request has none. */
  readonly body: Readable | undefined;
  /** The stream of the response body. Its `close` event is the end of the exchange. */
  readonly answer: Writable;
  /** Reports whether the response has begun. */
  readonly hasBegun: boolean;
  /** Begins the response. */
  begin(status: number, headers: ResponseHeaders): void;
  /** Begins a response whose body may take long: the headers are sent at once. */
  beginStream(status: number, headers: ResponseHeaders): void;
  /** Sends a response without a body. */
  sendEmpty(status: number, headers: ResponseHeaders): void;
  /** Ends the response, with these bytes if any. */
  end(bytes?: Uint8Array | string): void;
  /**
   * Discards the rest of the request body, which is not needed for the response. Called before the response
   * begins.
   */
  discardBody(): void;
  /** Hands the connection over to a response in another protocol, if the connection allows it. */
  handOver(response: UpgradeResponse): void;
  /** Destroys the exchange at once. */
  abort(): void;
}

/** An HTTP/2 stream, without Node's wrappers that make it look like HTTP/1.1. */
export class Http2Exchange implements Exchange {
  readonly method: string;
  readonly url: string;
  readonly headers: ApiRequest["headers"];
  readonly repeated?: NonNullable<ApiRequest["repeated"]>;
  readonly body: Readable | undefined;
  readonly answer: ServerHttp2Stream;

  constructor(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, raw: readonly string[]) {
    this.answer = stream;
    this.method = headers[":method"] as string;
    this.url = headers[":path"] as string;
    const { headers: own, repeated } = headersOf(raw);
    this.headers = own;
    if (repeated !== undefined) this.repeated = repeated;
    this.body = stream.endAfterHeaders ? undefined : stream;
  }

  get socket(): TLSSocket {
    // Node clears the session when the stream is destroyed; until then the exchange is in use.
    return this.answer.session!.socket as TLSSocket;
  }

  get hasBegun(): boolean {
    return this.answer.headersSent;
  }

  begin(status: number, headers: ResponseHeaders): void {
    this.answer.respond({ ...headers, ":status": status });
  }

  beginStream(status: number, headers: ResponseHeaders): void {
    this.begin(status, headers);
  }

  sendEmpty(status: number, headers: ResponseHeaders): void {
    this.answer.respond({ ...headers, ":status": status }, { endStream: true });
  }

  end(bytes?: Uint8Array | string): void {
    this.answer.end(bytes);
  }

  discardBody(): void {
    this.answer.resume();
  }

  handOver(response: UpgradeResponse): void {
    response.discard();
    this.abort();
  }

  abort(): void {
    this.answer.destroy();
  }
}

export class Http1Exchange implements Exchange {
  readonly method: string;
  readonly url: string;
  readonly headers: ApiRequest["headers"];
  readonly repeated?: NonNullable<ApiRequest["repeated"]>;
  readonly socket: TLSSocket;
  readonly body: IncomingMessage | undefined;
  readonly answer: ServerResponse;
  readonly #clock: Clock;
  #unread: IncomingMessage | undefined;

  constructor(request: IncomingMessage, response: ServerResponse, clock: Clock) {
    this.#clock = clock;
    this.answer = response;
    this.socket = request.socket as TLSSocket;
    this.method = request.method as string;
    this.url = request.url as string;
    const { headers, repeated } = headersOf(request.rawHeaders);
    this.headers = headers;
    if (repeated !== undefined) this.repeated = repeated;
    const { "content-length": length = "0", "transfer-encoding": encoding } = headers;
    this.body = encoding === undefined && Number(length) === 0 ? undefined : request;
  }

  get hasBegun(): boolean {
    return this.answer.headersSent;
  }

  begin(status: number, headers: ResponseHeaders): void {
    this.answer.statusCode = status;
    for (const [name, value] of Object.entries(headers)) this.answer.setHeader(name, value);
  }

  beginStream(status: number, headers: ResponseHeaders): void {
    this.begin(status, headers);
    this.answer.flushHeaders();
  }

  sendEmpty(status: number, headers: ResponseHeaders): void {
    this.begin(status, headers);
    this.end();
  }

  end(bytes?: Uint8Array | string): void {
    if (this.#unread === undefined) {
      this.answer.end(bytes);
      return;
    }
    if (bytes === undefined) this.answer.flushHeaders();
    else this.answer.write(bytes);
    // The client knows the length and need not wait; the connection closes with the end.
    const lingering = new AbortController();
    const cancel = this.#clock.after(lingerTimeout, () => lingering.abort());
    const rest = finished(this.#unread, { signal: lingering.signal });
    rest
      .catch(() => {})
      .then(() => {
        cancel();
        this.answer.end();
      });
  }

  discardBody(): void {
    this.answer.setHeader("connection", "close");
    this.#unread = this.body?.resume();
  }

  handOver(response: UpgradeResponse): void {
    response.discard();
    this.abort();
  }

  abort(): void {
    this.socket.destroy();
  }
}
