import { Duplex } from "node:stream";
import { maxTtrpcBytes } from "@dray/rpc";

/** Connection IDs of the two services. Upstream: containerd/nri, pkg/net/multiplex/ttrpc.go. */
export const muxConnection = { plugin: 1, runtime: 2 } as const;

const headLength = 8;
/** Maximum length of a frame's payload in bytes: a ttrpc message with its header. */
const maxPayload = maxTtrpcBytes + 10;
/**
 * Go reads messages through a buffer of this size, and a frame that is longer than its read is an error
 * there.
 */
const firstPayload = 4096;

/**
 * Multiplexes logical connections: each frame has the number of its connection and its length, both 32 bits,
 * big endian. A connection is opened by its first frame.
 *
 * Upstream: containerd/nri, pkg/net/multiplex/mux.go.
 */
export class Mux {
  /** Resolves when the connection has ended on either side. */
  readonly closed: Promise<void>;
  readonly #trunk: Duplex;
  readonly #connections = new Map<number, Connection>();
  #kept: Buffer = Buffer.alloc(0);
  /** The current frame. */
  #frame: { readonly id: number; left: number } | undefined;

  constructor(trunk: Duplex) {
    this.#trunk = trunk;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.closed = promise;
    trunk.on("data", (chunk: Buffer) => this.#read(chunk));
    trunk.on("error", () => {});
    trunk.once("end", () => trunk.destroy());
    trunk.once("close", () => {
      for (const connection of this.#connections.values()) connection.lose();
      resolve();
    });
  }

  /** Opens a logical connection. Each write is one message; destroying it ends all connections. */
  open(id: number): Duplex {
    const connection = new Connection({
      write: (message, done) => this.#write(id, message, done),
      resume: () => this.#trunk.resume(),
      destroyed: () => this.close(),
    });
    this.#connections.set(id, connection);
    return connection;
  }

  close(): void {
    this.#trunk.destroy();
  }

  #write(id: number, message: Buffer, done: (error?: Error | null) => void): void {
    const parts: Buffer[] = [];
    // The first frame fits into the reader's buffer, the rest is read in place.
    for (const part of [message.subarray(0, firstPayload), message.subarray(firstPayload)]) {
      if (part.length === 0) continue;
      const head = Buffer.alloc(headLength);
      head.writeUInt32BE(id);
      head.writeUInt32BE(part.length, 4);
      parts.push(head, part);
    }
    if (this.#trunk.destroyed) done(new Error("the connection has ended"));
    else this.#trunk.write(Buffer.concat(parts), done);
  }

  #read(chunk: Buffer): void {
    let rest = this.#kept.length === 0 ? chunk : Buffer.concat([this.#kept, chunk]);
    this.#kept = Buffer.alloc(0);
    while (rest.length > 0) {
      if (this.#frame === undefined) {
        if (rest.length < headLength) {
          this.#kept = Buffer.from(rest);
          return;
        }
        const left = rest.readUInt32BE(4);
        if (left > maxPayload) {
          this.close();
          return;
        }
        this.#frame = { id: rest.readUInt32BE(), left };
        rest = rest.subarray(headLength);
      }
      const { id, left } = this.#frame;
      const part = rest.subarray(0, left);
      rest = rest.subarray(part.length);
      this.#frame.left -= part.length;
      if (this.#frame.left === 0) this.#frame = undefined;
      // Data of unknown connections is discarded.
      if (part.length > 0 && this.#connections.get(id)?.receive(part) === false) this.#trunk.pause();
    }
  }
}

interface Carrier {
  write(message: Buffer, done: (error?: Error | null) => void): void;
  resume(): void;
  destroyed(): void;
}

class Connection extends Duplex {
  readonly #carrier: Carrier;

  constructor(carrier: Carrier) {
    super();
    this.#carrier = carrier;
    // Default handler: an unhandled `error` event would end the process.
    this.on("error", () => {});
  }

  receive(bytes: Buffer): boolean {
    return this.destroyed || this.push(bytes);
  }

  lose(): void {
    this.destroy();
  }

  override _read(): void {
    this.#carrier.resume();
  }

  override _write(message: Buffer, _: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#carrier.write(message, done);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#carrier.destroyed();
    done(error);
  }
}
