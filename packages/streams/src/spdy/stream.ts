import { Duplex } from "node:stream";
import type { Headers } from "./header-block.ts";

/**
 * One SPDY/3.1 stream. `end()` half-closes it (FIN), `destroy()` resets it (RST_STREAM CANCEL). A reset by
 * the other side, or the end of the session, reads as the end after all earlier data, as in Go's spdystream;
 * then `close` follows. Later writes fail. A stream without a listener for `error` never throws.
 */
export interface SpdyStream extends Duplex {
  readonly id: number;
  /** Names in lower case. */
  readonly headers: Headers;
}

/** The part of a session that its streams use. */
export interface Carrier {
  /** Sends data; `done` is called when more may be sent, or with an error. */
  send(stream: number, bytes: Buffer, fin: boolean, done: (error?: Error) => void): void;
  reset(stream: number): void;
  /** Changes the number of unread bytes of the session. */
  waiting(change: number): void;
  forget(stream: number): void;
}

/** Maximum length of a DATA frame, in bytes: streams of one session alternate. */
const maxDataBytes = 32 * 1024;

export class Stream extends Duplex implements SpdyStream {
  readonly id: number;
  readonly headers: Headers;
  readonly #carrier: Carrier;
  /** Buffered input; null is the end. */
  readonly #pending: (Buffer | null)[] = [];
  #wanted = false;
  #ended = false;
  /** The other side accepts no more data. */
  #gone = false;

  constructor(id: number, headers: Headers, carrier: Carrier) {
    super({ allowHalfOpen: true, emitClose: true });
    this.id = id;
    this.headers = headers;
    this.#carrier = carrier;
    // Default handler: without it a stream that fails would end the process.
    this.on("error", () => {});
  }

  /** Receives data of the other side; null is its end. */
  receive(bytes: Buffer | null): void {
    if (this.#ended || this.destroyed) return;
    if (bytes === null) this.#ended = true;
    if (bytes === null || bytes.length > 0) {
      this.#pending.push(bytes);
      this.#carrier.waiting(bytes?.length ?? 0);
    }
    if (this.#wanted) this.#hand();
  }

  /** The other side has reset the stream or disconnected. */
  lose(): void {
    if (this.#gone) return;
    this.#gone = true;
    this.receive(null);
    if (this.readableEnded) this.destroy();
    else this.once("end", () => this.destroy());
    // Without a reader there is nothing to wait for.
    if (this.#pending.length <= 1 && this.readableLength === 0) setImmediate(() => this.destroy());
  }

  #hand(): void {
    for (let bytes = this.#pending.shift(); bytes !== undefined; bytes = this.#pending.shift()) {
      this.#carrier.waiting(-(bytes?.length ?? 0));
      this.#wanted = this.push(bytes);
      if (!this.#wanted) return;
    }
  }

  override _read(): void {
    this.#wanted = true;
    this.#hand();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: (error?: Error | null) => void): void {
    const next = (at: number): void => {
      if (this.#gone || this.destroyed) {
        callback(new Error(`stream ${this.id} was reset by the other side`));
        return;
      }
      if (at >= chunk.length) {
        callback();
        return;
      }
      const part = chunk.subarray(at, at + maxDataBytes);
      this.#carrier.send(this.id, part, false, (error) => (error ? callback(error) : next(at + part.length)));
    };
    next(0);
  }

  override _final(callback: (error?: Error | null) => void): void {
    if (this.#gone) callback();
    else this.#carrier.send(this.id, Buffer.alloc(0), true, callback);
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    for (const bytes of this.#pending) this.#carrier.waiting(-(bytes?.length ?? 0));
    this.#pending.length = 0;
    const closed = this.#ended && this.writableFinished;
    if (!closed && !this.#gone) this.#carrier.reset(this.id);
    this.#gone = true;
    this.#carrier.forget(this.id);
    callback(error);
  }
}
