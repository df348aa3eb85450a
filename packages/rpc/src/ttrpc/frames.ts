/** Message types of ttrpc. */
export const messageType = { request: 1, response: 2, data: 3 } as const;

/** Maximum length of a message's data, in bytes (ttrpc's `messageLengthMax`). */
export const maxTtrpcBytes = 4 << 20;

const headLength = 10;

/** One message. `data` is undefined if it was longer than `maxTtrpcBytes` and was skipped. */
export interface Frame {
  readonly stream: number;
  readonly type: number;
  readonly flags: number;
  readonly data: Buffer | undefined;
  /** Length of the data that the sender announced, in bytes. */
  readonly length: number;
}

/** The bytes of one message: length, stream, type, flags, data (ttrpc, PROTOCOL.md). */
export function frameBytes(stream: number, type: number, data: Uint8Array): Buffer {
  const bytes = Buffer.alloc(headLength + data.length);
  bytes.writeUInt32BE(data.length);
  bytes.writeUInt32BE(stream, 4);
  bytes[8] = type;
  bytes.set(data, headLength);
  return bytes;
}

/** Splits the bytes of a connection into messages. */
export class FrameParser {
  readonly #onFrame: (frame: Frame) => void;
  #parts: Buffer[] = [];
  #have = 0;
  #head: Omit<Frame, "data"> | undefined;
  /** Remaining bytes of a message that is too long. */
  #skip = 0;

  constructor(onFrame: (frame: Frame) => void) {
    this.#onFrame = onFrame;
  }

  push(chunk: Buffer): void {
    let rest = chunk;
    while (rest.length > 0) {
      if (this.#skip > 0) {
        const skipped = Math.min(this.#skip, rest.length);
        this.#skip -= skipped;
        rest = rest.subarray(skipped);
        continue;
      }
      const need = (this.#head === undefined ? headLength : this.#head.length) - this.#have;
      const part = rest.subarray(0, need);
      this.#parts.push(part);
      this.#have += part.length;
      rest = rest.subarray(part.length);
      if (part.length === need) this.#complete();
    }
  }

  #complete(): void {
    const bytes = this.#parts.length === 1 ? this.#parts[0]! : Buffer.concat(this.#parts);
    this.#parts = [];
    this.#have = 0;
    const head = this.#head;
    if (head !== undefined) {
      this.#head = undefined;
      this.#onFrame({ ...head, data: bytes });
      return;
    }
    const length = bytes.readUInt32BE();
    const next = { stream: bytes.readUInt32BE(4), type: bytes[8]!, flags: bytes[9]!, length };
    if (length > maxTtrpcBytes) {
      this.#skip = length;
      this.#onFrame({ ...next, data: undefined });
    } else if (length === 0) this.#onFrame({ ...next, data: Buffer.alloc(0) });
    else this.#head = next;
  }
}
