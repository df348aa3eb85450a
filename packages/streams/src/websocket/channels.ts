import { Duplex, type DuplexOptions } from "node:stream";
import { finished } from "node:stream/promises";
import type { WebSocket } from "ws";

/** The direction of a channel, from the server's point of view. */
export type ChannelUse = "in" | "out" | "both";

/** First byte of a message that closes a channel, from v5 on. */
const closeSignal = 255;

/**
 * Streams over one WebSocket. The first byte of a message is its channel (`wsstream` of Kubernetes), a digit
 * in base64 protocols. Messages of unused channels are ignored.
 */
export class WebSocketChannels {
  /** Resolves when the connection has ended, whichever side ended it. */
  readonly closed: Promise<void>;
  readonly #ws: WebSocket;
  readonly #textual: boolean;
  readonly #channels: readonly (Channel | undefined)[];

  constructor(ws: WebSocket, protocol: string, uses: readonly (ChannelUse | undefined)[]) {
    this.#ws = ws;
    this.#textual = protocol.includes("base64.");
    this.#channels = uses.map((use, number) =>
      use === undefined ? undefined : new Channel(use, number, this),
    );
    const closing = protocol.startsWith("v5.");
    ws.on("message", (data: Buffer) => {
      if (closing && data[0] === closeSignal) {
        if (data.length === 2 && data[1]! < uses.length) this.#channels[data[1]!]?.finish();
        else ws.close(1002);
      } else if (data.length > 0) this.#receive(data);
    });
    const { promise, resolve } = Promise.withResolvers<void>();
    this.closed = promise;
    ws.once("close", () => {
      for (const channel of this.#channels) channel?.lose();
      resolve();
    });
  }

  channel(number: number): Duplex | undefined {
    return this.#channels[number];
  }

  send(channel: number, bytes: Uint8Array, done: (error?: Error) => void): void {
    if (this.#textual) {
      this.#ws.send(String.fromCharCode(48 + channel) + Buffer.from(bytes).toString("base64"), done);
    } else this.#ws.send(Buffer.concat([Buffer.of(channel), bytes]), done);
  }

  /** Resumes reading from the client. */
  resume(): void {
    this.#ws.resume();
  }

  /** Sends everything written before, then `last`, and ends the connection. */
  async finish(last?: { readonly channel: number; readonly bytes: Buffer }): Promise<void> {
    const written = this.#channels.map((channel) => {
      if (channel === undefined || channel.use !== "out" || channel.destroyed) return undefined;
      channel.end();
      return finished(channel, { readable: false });
    });
    // Also settles if the client disconnects.
    await Promise.allSettled(written);
    if (last !== undefined && last.bytes.length > 0 && this.#ws.readyState === this.#ws.OPEN) {
      this.send(last.channel, last.bytes, () => {});
    }
    // Reads on after the last message, to receive the close frame of the other side.
    this.#ws.resume();
    this.#ws.close(1000);
    await this.closed;
  }

  #receive(data: Buffer): void {
    const channel = this.#channels[this.#textual ? data[0]! - 48 : data[0]!];
    const bytes = this.#textual ? Buffer.from(data.toString("latin1", 1), "base64") : data.subarray(1);
    if (channel?.receive(bytes) === false) this.#ws.pause();
  }
}

class Channel extends Duplex {
  readonly use: ChannelUse;
  readonly #number: number;
  readonly #all: WebSocketChannels;
  #finished: boolean;

  constructor(use: ChannelUse, number: number, all: WebSocketChannels) {
    super({ readable: use !== "out", writable: use !== "in" } as DuplexOptions);
    this.use = use;
    this.#number = number;
    this.#all = all;
    this.#finished = use === "out";
    // Default handler: without it a client that goes away would end the process.
    this.on("error", () => {});
  }

  override _read(): void {
    this.#all.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#all.send(this.#number, chunk, done);
  }

  /** Channels cannot be half-closed: input after the server's end is discarded. */
  override _final(done: (error?: Error | null) => void): void {
    this.finish();
    done();
  }

  /** Passes input of the client on. Returns false if the reader is full. */
  receive(bytes: Buffer): boolean {
    return this.#finished || this.destroyed || bytes.length === 0 || this.push(bytes);
  }

  /** Ends the input; later input is discarded. */
  finish(): void {
    if (this.#finished || this.destroyed) return;
    this.#finished = true;
    this.push(null);
  }

  /** The client has disconnected. */
  lose(): void {
    this.finish();
    if (this.use === "out") this.destroy();
  }
}
