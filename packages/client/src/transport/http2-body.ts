import type { ClientHttp2Stream } from "node:http2";
import { errorText } from "./connection.ts";

/** Maximum number of buffered bytes: the stream is paused until they are read. */
const maxBufferedBytes = 1 << 20;

/**
 * The body of an HTTP/2 response, from the event `response` on, for one reader.
 *
 * `for await` over the stream, and a pipeline, fail with ERR_STREAM_PREMATURE_CLOSE if the whole body arrives
 * before the first read: they mistake `closed` of an Http2Stream, which is about the protocol, for the end of
 * the readable data.
 */
export class Http2Body implements AsyncIterable<Buffer> {
  readonly #stream: ClientHttp2Stream;
  /** content-length; undefined if the server does not send it. */
  readonly #length: number | undefined;
  readonly #brokenReason: () => string | undefined;
  #chunks: Buffer[] = [];
  #bufferedBytes = 0;
  #received = 0;
  #ended = false;
  /** Error of the stream or its connection. */
  #error: unknown;
  #failure: string | undefined;
  #wake: (() => void) | undefined;

  /** `brokenReason` returns why the connection has ended; undefined if it has not. */
  constructor(stream: ClientHttp2Stream, length: number | undefined, brokenReason: () => string | undefined) {
    this.#stream = stream;
    this.#length = length;
    this.#brokenReason = brokenReason;
    stream.on("data", (chunk: Buffer) => this.#add(chunk));
    stream.once("end", () => this.#end());
    stream.once("close", () => this.#end());
    stream.on("error", (error) => {
      this.#error ??= error;
    });
  }

  /** Throws if the body ends before it is complete. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer> {
    for (;;) {
      const chunks = this.#chunks;
      this.#chunks = [];
      this.#bufferedBytes = 0;
      if (this.#stream.isPaused()) this.#stream.resume();
      yield* chunks;
      if (this.#chunks.length > 0) continue;
      if (this.#ended) break;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    if (this.#failure !== undefined) throw new Error(this.#failure);
  }

  #add(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#received += chunk.length;
    this.#bufferedBytes += chunk.length;
    if (this.#bufferedBytes >= maxBufferedBytes) this.#stream.pause();
    this.#wake?.();
  }

  #end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#failure = this.#incompleteReason();
    this.#wake?.();
  }

  /** Node ends a truncated stream like a complete one. */
  #incompleteReason(): string | undefined {
    if (this.#length !== undefined && this.#received === this.#length) return undefined;
    if (this.#error !== undefined) return errorText(this.#error);
    const broken = this.#brokenReason();
    if (broken !== undefined) return broken;
    const { rstCode = 0 } = this.#stream;
    if (rstCode !== 0) return `the server reset the stream with code ${rstCode}`;
    return this.#length === undefined
      ? undefined
      : `${this.#received} of ${this.#length} bytes have come, and then the end`;
  }
}
