import type { ClientHttp2Stream } from "node:http2";
import { text } from "./connection.ts";

/** Bytes that wait for their reader before the server has to wait. */
const maxWaiting = 1 << 20;

/**
 * The body of an answer over HTTP/2: takes what comes from the event `response` on, for one reader.
 *
 * A stream is not read with `for await`, nor by a pipeline: both end with ERR_STREAM_PREMATURE_CLOSE where all of the
 * body came before the first read. They take `closed` of an Http2Stream, which speaks of the protocol, for the end of
 * what can be read.
 */
export class Http2Body implements AsyncIterable<Buffer> {
  readonly #stream: ClientHttp2Stream;
  /** Of the body, as the server announced it. */
  readonly #length: number | undefined;
  readonly #whyBroken: () => string | undefined;
  #chunks: Buffer[] = [];
  #waiting = 0;
  #received = 0;
  #ended = false;
  /** Of the stream, or of the connection that took it with it. */
  #error: unknown;
  #failure: string | undefined;
  #wake: (() => void) | undefined;

  /** `whyBroken`: why the connection as a whole has ended, if it has. */
  constructor(stream: ClientHttp2Stream, length: number | undefined, whyBroken: () => string | undefined) {
    this.#stream = stream;
    this.#length = length;
    this.#whyBroken = whyBroken;
    stream.on("data", (chunk: Buffer) => this.#take(chunk));
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
      this.#waiting = 0;
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

  #take(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#received += chunk.length;
    this.#waiting += chunk.length;
    if (this.#waiting >= maxWaiting) this.#stream.pause();
    this.#wake?.();
  }

  #end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#failure = this.#whyIncomplete();
    this.#wake?.();
  }

  /** Node ends a stream that was cut off as if it were complete. */
  #whyIncomplete(): string | undefined {
    if (this.#length !== undefined && this.#received === this.#length) return undefined;
    if (this.#error !== undefined) return text(this.#error);
    const broken = this.#whyBroken();
    if (broken !== undefined) return broken;
    const { rstCode = 0 } = this.#stream;
    if (rstCode !== 0) return `the server reset the stream with code ${rstCode}`;
    return this.#length === undefined
      ? undefined
      : `${this.#received} of ${this.#length} bytes have come, and then the end`;
  }
}
