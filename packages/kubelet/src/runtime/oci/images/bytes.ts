/** Reads a stream of bytes in the pieces that a parser wants. */
export class ByteReader {
  readonly #source: AsyncIterator<Uint8Array>;
  #rest: Buffer = Buffer.alloc(0);
  #ended = false;

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  /** Reads `length` bytes; fewer at the end of the stream, undefined if nothing is left. */
  async read(length: number): Promise<Buffer | undefined> {
    if (length === 0) return Buffer.alloc(0);
    const parts: Buffer[] = [];
    let missing = length;
    while (missing > 0) {
      const part = await this.some(missing);
      if (part === undefined) break;
      parts.push(part);
      missing -= part.length;
    }
    if (parts.length === 0) return undefined;
    return parts.length === 1 ? parts[0]! : Buffer.concat(parts);
  }

  /** Reads available bytes, at most `max`; undefined at the end. */
  async some(max: number): Promise<Buffer | undefined> {
    while (this.#rest.length === 0) {
      if (this.#ended) return undefined;
      const { value, done } = await this.#source.next();
      if (done === true) this.#ended = true;
      else this.#rest = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
    }
    const part = this.#rest.subarray(0, max);
    this.#rest = this.#rest.subarray(part.length);
    return part;
  }

  /** Skips `length` bytes; false if the stream ends before. */
  async skip(length: number): Promise<boolean> {
    for (let left = length; left > 0; ) {
      const part = await this.some(left);
      if (part === undefined) return false;
      left -= part.length;
    }
    return true;
  }

  async skipAll(): Promise<void> {
    while ((await this.some(Number.MAX_SAFE_INTEGER)) !== undefined);
  }
}
