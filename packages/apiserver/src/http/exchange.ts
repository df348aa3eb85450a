import type { IncomingMessage, ServerResponse } from "node:http";
import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import type { Readable, Writable } from "node:stream";
import { finished } from "node:stream/promises";
import type { TLSSocket } from "node:tls";
import type { ApiRequest, UpgradeResponse } from "@dray/client";
import { headersOf } from "../request/headers.ts";

/**
 * Milliseconds for which the rest of a body is still read after the answer. A connection that is closed on what has come
 * and was not read is reset, and its client may lose the answer (RFC 9112, 9.6).
 */
const lingering = 5_000;

/** Names in lower case. */
export type AnswerHeaders = Readonly<Record<string, string | readonly string[]>>;

/** A request on its connection, and the way to answer it; the same for HTTP/2 and HTTP/1.1. */
export interface Exchange extends Pick<ApiRequest, "method" | "url" | "headers" | "repeated"> {
  readonly socket: TLSSocket;
  /** What comes of the body; undefined where the request has none. */
  readonly body: Readable | undefined;
  /** Takes the body of the answer. Its `close` is the end of the exchange. */
  readonly answer: Writable;
  /** Whether the answer has begun. */
  readonly begun: boolean;
  /** Begins the answer. */
  begin(status: number, headers: AnswerHeaders): void;
  /** Begins an answer whose body may be long in coming: its beginning is sent at once. */
  beginStream(status: number, headers: AnswerHeaders): void;
  /** The whole of an answer without a body. */
  only(status: number, headers: AnswerHeaders): void;
  /** Ends the answer, with these bytes if any. */
  end(bytes?: Uint8Array | string): void;
  /** Throws away what is still to come of the request: it is answered without. Before the answer begins. */
  leaveBody(): void;
  /** Hands the connection over to an answer that goes on in another protocol, where there is one to hand over. */
  takeOver(response: UpgradeResponse): void;
  /** Ends the exchange at once. */
  cutOff(): void;
}

/** A stream of HTTP/2, without the objects in which Node wraps it so that it looks like HTTP/1.1. */
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
    return this.answer.session!.socket as TLSSocket;
  }

  get begun(): boolean {
    return this.answer.headersSent;
  }

  begin(status: number, headers: AnswerHeaders): void {
    this.answer.respond({ ...headers, ":status": status });
  }

  beginStream(status: number, headers: AnswerHeaders): void {
    this.begin(status, headers);
  }

  only(status: number, headers: AnswerHeaders): void {
    this.answer.respond({ ...headers, ":status": status }, { endStream: true });
  }

  end(bytes?: Uint8Array | string): void {
    this.answer.end(bytes);
  }

  leaveBody(): void {
    this.answer.resume();
  }

  takeOver(response: UpgradeResponse): void {
    response.discard();
    this.cutOff();
  }

  cutOff(): void {
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
  #left: IncomingMessage | undefined;

  constructor(request: IncomingMessage, response: ServerResponse) {
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

  get begun(): boolean {
    return this.answer.headersSent;
  }

  begin(status: number, headers: AnswerHeaders): void {
    this.answer.statusCode = status;
    for (const [name, value] of Object.entries(headers)) this.answer.setHeader(name, value);
  }

  beginStream(status: number, headers: AnswerHeaders): void {
    this.begin(status, headers);
    this.answer.flushHeaders();
  }

  only(status: number, headers: AnswerHeaders): void {
    this.begin(status, headers);
    this.end();
  }

  end(bytes?: Uint8Array | string): void {
    if (this.#left === undefined) {
      this.answer.end(bytes);
      return;
    }
    if (bytes === undefined) this.answer.flushHeaders();
    else this.answer.write(bytes);
    // Its length is known to the client, who need not wait; the connection closes with the end.
    const rest = finished(this.#left, { signal: AbortSignal.timeout(lingering) });
    rest.catch(() => {}).then(() => this.answer.end());
  }

  leaveBody(): void {
    this.answer.setHeader("connection", "close");
    this.#left = this.body?.resume();
  }

  takeOver(response: UpgradeResponse): void {
    response.discard();
    this.cutOff();
  }

  cutOff(): void {
    this.socket.destroy();
  }
}
