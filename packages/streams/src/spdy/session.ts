import type { Duplex } from "node:stream";
import { type Frame, FrameParser, FrameWriter, resetStatus } from "./frames.ts";
import { HeaderReader, type Headers } from "./header-block.ts";
import { ProtocolError } from "./protocol-error.ts";
import { type Carrier, type SpdyStream, Stream } from "./stream.ts";

/** Many streams over one connection, as Go's spdystream speaks SPDY/3.1: without flow control. */
export interface SpdySession {
  /**
   * Opens a stream; resolves when the other side has accepted it. Rejects if it is refused or the session has
   * ended. Header names are sent in lower case.
   */
  createStream(headers: Headers): Promise<SpdyStream>;
  /** Resolves when the other side has responded, or the session has ended. */
  ping(): Promise<void>;
  /** Resets the open streams, and ends the connection after everything written before has been sent. */
  close(): void;
  /** Resolves with the reason when the connection has ended, whichever side ended it. Never rejects. */
  readonly closed: Promise<void>;
}

export interface SpdyOptions {
  /** Bytes that were read from the socket before. */
  readonly head?: Uint8Array;
  /**
   * Called for each stream that the other side opens, before it is accepted. If it throws, the stream is
   * refused.
   */
  readonly onStream?: (stream: SpdyStream) => void;
  readonly log?: { debug(fields: object, message: string): void };
}

/** Maximum number of unread bytes of all streams of a session. Above it the session stops reading. */
const maxWaitingBytes = 1024 * 1024;
/** Maximum number of open streams. */
const maxStreams = 4096;
const lastId = 0x7fffffff;

/**
 * Takes over a connection after its upgrade to SPDY/3.1 (moby/spdystream, as kubectl, kubelets and
 * kube-apiserver speak it). `role` is the role of this side. Never throws because of input: an invalid
 * session ends its connection.
 */
export function spdySession(
  socket: Duplex,
  role: "client" | "server",
  options: SpdyOptions = {},
): SpdySession {
  return new Session(socket, role, options);
}

/** A stream that the other end has not accepted yet. */
interface Opening {
  accept(): void;
  reject(error: Error): void;
}

class Session implements SpdySession, Carrier {
  readonly closed: Promise<void>;
  readonly #socket: Duplex;
  readonly #options: SpdyOptions;
  readonly #writer = new FrameWriter();
  readonly #parser: FrameParser;
  readonly #streams = new Map<number, Stream>();
  /** Streams that the other side has not accepted yet. */
  readonly #opening = new Map<number, Opening>();
  readonly #pings = new Map<number, () => void>();
  /** Writers that wait for the socket to drain. */
  readonly #writers: (() => void)[] = [];
  readonly #ownParity: number;
  #nextId: number;
  #nextPing: number;
  #lastReceived = 0;
  #waiting = 0;
  #over = false;

  constructor(socket: Duplex, role: "client" | "server", options: SpdyOptions) {
    this.#socket = socket;
    this.#options = options;
    this.#ownParity = role === "client" ? 1 : 0;
    this.#nextId = role === "client" ? 1 : 2;
    this.#nextPing = this.#nextId;
    this.#parser = new FrameParser(new HeaderReader(), (frame) => this.#receive(frame));
    const { promise, resolve } = Promise.withResolvers<void>();
    this.closed = promise;
    const lost = (): void => {
      this.#end();
      resolve();
    };
    socket.on("error", (error) => {
      options.log?.debug({ error }, "a connection with streams has failed");
      this.#end();
    });
    socket.once("close", lost);
    // The end of one direction ends the session.
    socket.once("end", () => {
      this.#end();
      socket.end();
    });
    socket.on("drain", () => this.#drained());
    if (socket.destroyed) {
      lost();
      return;
    }
    const { head } = options;
    if (head !== undefined && head.length > 0) socket.unshift(Buffer.from(head));
    socket.on("data", (chunk: Buffer) => this.#read(chunk));
  }

  createStream(headers: Headers): Promise<SpdyStream> {
    if (this.#over || this.#nextId > lastId) return Promise.reject(new Error("the session has ended"));
    const id = this.#nextId;
    this.#nextId += 2;
    const { promise, resolve, reject } = Promise.withResolvers<SpdyStream>();
    const stream = new Stream(id, headers, this);
    this.#opening.set(id, { accept: () => resolve(stream), reject });
    this.#streams.set(id, stream);
    this.#socket.write(this.#writer.synStream(id, headers));
    return promise;
  }

  ping(): Promise<void> {
    if (this.#over) return Promise.resolve();
    const id = this.#nextPing;
    this.#nextPing = id + 2 > lastId ? id + 2 - (lastId - 1) : id + 2;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#pings.set(id, resolve);
    this.#socket.write(this.#writer.ping(id));
    return promise;
  }

  close(): void {
    if (this.#over) return;
    for (const stream of [...this.#streams.values()]) stream.destroy();
    if (this.#socket.writable) this.#socket.write(this.#writer.goAway(this.#lastReceived));
    this.#end();
    this.#socket.end();
    // Discards remaining input; reads it to detect the end of the other side.
    this.#socket.resume();
  }

  /** Stops reading and writing frames. */
  #end(): void {
    if (this.#over) return;
    this.#over = true;
    for (const opening of this.#opening.values()) opening.reject(new Error("the session has ended"));
    this.#opening.clear();
    for (const stream of [...this.#streams.values()]) stream.lose();
    for (const answered of this.#pings.values()) answered();
    this.#pings.clear();
    for (const next of this.#writers.splice(0)) next();
  }

  #read(chunk: Buffer): void {
    if (this.#over) return;
    try {
      this.#parser.push(chunk);
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      this.#options.log?.debug({ error }, "a connection that does not speak SPDY/3.1 was cut off");
      this.#end();
      this.#socket.destroy();
      return;
    }
    this.#paceReading();
  }

  /** Reads while readers keep up and the other side accepts the responses to its pings and streams. */
  #paceReading(): void {
    if (this.#over) return;
    const behind = this.#waiting > maxWaitingBytes || this.#socket.writableLength > maxWaitingBytes;
    if (behind) this.#socket.pause();
    else if (this.#socket.isPaused()) this.#socket.resume();
  }

  #receive(frame: Frame): void {
    if (this.#over) return;
    switch (frame.type) {
      case "synStream":
        this.#accept(frame);
        return;
      case "synReply": {
        this.#opening.get(frame.stream)?.accept();
        this.#opening.delete(frame.stream);
        if (frame.fin) this.#streams.get(frame.stream)?.receive(null);
        return;
      }
      case "headers":
        if (frame.fin) this.#streams.get(frame.stream)?.receive(null);
        return;
      case "data": {
        const stream = this.#streams.get(frame.stream);
        stream?.receive(frame.bytes);
        if (frame.fin) stream?.receive(null);
        return;
      }
      case "reset":
        this.#opening.get(frame.stream)?.reject(new Error("the stream was refused"));
        this.#opening.delete(frame.stream);
        this.#streams.get(frame.stream)?.lose();
        return;
      case "ping":
        if (frame.id % 2 === this.#ownParity) {
          this.#pings.get(frame.id)?.();
          this.#pings.delete(frame.id);
        } else this.#socket.write(this.#writer.ping(frame.id));
        return;
      case "goAway":
        this.#end();
        this.#socket.end();
        return;
      default:
    }
  }

  #accept({ stream: id, fin, unidirectional, headers }: Extract<Frame, { type: "synStream" }>): void {
    if (id % 2 === this.#ownParity || id <= this.#lastReceived) {
      this.#socket.write(this.#writer.reset(id, resetStatus.protocolError));
      return;
    }
    this.#lastReceived = id;
    const { onStream } = this.#options;
    if (onStream === undefined || this.#streams.size >= maxStreams) {
      this.#socket.write(this.#writer.reset(id, resetStatus.refusedStream));
      return;
    }
    const stream = new Stream(id, headers, this);
    this.#streams.set(id, stream);
    try {
      onStream(stream);
    } catch (error) {
      this.#options.log?.debug({ error }, "a stream was refused");
      stream.destroy();
      return;
    }
    // `onStream` has destroyed the stream, which is reset already.
    if (stream.destroyed) return;
    this.#socket.write(this.#writer.synReply(id));
    if (fin) stream.receive(null);
    if (unidirectional) stream.end();
  }

  send(stream: number, bytes: Buffer, fin: boolean, done: (error?: Error) => void): void {
    if (this.#over || !this.#socket.writable) {
      done(new Error("the session has ended"));
      return;
    }
    if (this.#socket.writableNeedDrain) {
      this.#writers.push(() => this.send(stream, bytes, fin, done));
      return;
    }
    this.#socket.cork();
    this.#socket.write(this.#writer.dataHead(stream, bytes.length, fin));
    if (bytes.length > 0) this.#socket.write(bytes);
    this.#socket.uncork();
    done();
  }

  #drained(): void {
    while (!this.#socket.writableNeedDrain) {
      const write = this.#writers.shift();
      if (write === undefined) break;
      write();
    }
    this.#paceReading();
  }

  reset(stream: number): void {
    if (!this.#over && this.#socket.writable) {
      this.#socket.write(this.#writer.reset(stream, resetStatus.cancel));
    }
  }

  waiting(change: number): void {
    this.#waiting += change;
    if (change < 0) this.#paceReading();
  }

  forget(stream: number): void {
    this.#streams.delete(stream);
    this.#opening.get(stream)?.reject(new Error("the stream was given up"));
    this.#opening.delete(stream);
  }
}
