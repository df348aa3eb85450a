/** How the value after a tag is laid out. */
export const wire = { varint: 0, fixed64: 1, block: 2, startGroup: 3, endGroup: 4, fixed32: 5 } as const;

/** Bytes of the first piece, which is kept, and of those that follow where more is written. */
const [firstPiece, nextPiece] = [64 * 1024, 1024 * 1024];
/** Texts up to this length are written here: to call Node for them costs more. */
const shortText = 64;

/**
 * Writes from the end to the start: when the tag of a message is due, its length is known, and nothing is
 * written twice. Callers therefore write the last field first, and a value before its tag.
 */
export class BackwardWriter {
  readonly #first: Buffer;
  #bytes: Buffer;
  /** Index of the first byte written. */
  #at: number;
  /** Full buffers, which follow `#bytes`, the last one first. */
  #behind: Buffer[] = [];
  /** How much that is. */
  #size = 0;

  constructor(size: number = firstPiece) {
    this.#first = Buffer.allocUnsafeSlow(size);
    this.#bytes = this.#first;
    this.#at = size;
  }

  /** How many bytes are written; remember it before a message, for `block`. */
  get written(): number {
    return this.#size + this.#bytes.length - this.#at;
  }

  /** Starts again without bytes. */
  clear(): void {
    this.#bytes = this.#first;
    this.#at = this.#first.length;
    this.#behind = [];
    this.#size = 0;
  }

  /** Returns a copy of the written bytes, and starts again. */
  finish(): Uint8Array {
    const all = Buffer.allocUnsafe(this.written);
    let end = all.length;
    for (const piece of this.#behind) {
      end -= piece.length;
      all.set(piece, end);
    }
    this.#bytes.copy(all, 0, this.#at);
    this.clear();
    return all;
  }

  /** Makes room for that many bytes in one piece. May change `#bytes`. */
  #reserve(size: number): void {
    if (size <= this.#at) return;
    const piece = this.#bytes.subarray(this.#at);
    this.#behind.push(piece);
    this.#size += piece.length;
    this.#at = Math.max(nextPiece, size);
    this.#bytes = Buffer.allocUnsafeSlow(this.#at);
  }

  raw(bytes: Uint8Array): void {
    const { length } = bytes;
    this.#reserve(length);
    this.#at -= length;
    const [own, at] = [this.#bytes, this.#at];
    if (length > 16) own.set(bytes, at);
    else for (let i = 0; i < length; i++) own[at + i] = bytes[i]!;
  }

  /** The 64 bits of a whole number; negative ones in two's complement. */
  varint(value: number | bigint): void {
    this.#reserve(10);
    if (typeof value === "number" && value >= 0 && value < 0x4000) {
      const bytes = this.#bytes;
      if (value < 0x80) bytes[--this.#at] = value;
      else {
        bytes[--this.#at] = value >>> 7;
        bytes[--this.#at] = (value & 0x7f) | 0x80;
      }
      return;
    }
    let low: number;
    let high: number;
    if (typeof value === "bigint") {
      low = Number(BigInt.asUintN(32, value));
      high = Number(BigInt.asUintN(32, value >> 32n));
    } else {
      low = value >>> 0;
      high = Math.floor(value / 2 ** 32) >>> 0;
    }
    const bits = high === 0 ? 32 - Math.clz32(low) : 64 - Math.clz32(high);
    const size = Math.max(1, Math.ceil(bits / 7));
    this.#at -= size;
    let at = this.#at;
    for (let left = size; left > 1; left--) {
      this.#bytes[at++] = (low & 0x7f) | 0x80;
      low = ((low >>> 7) | (high << 25)) >>> 0;
      high >>>= 7;
    }
    this.#bytes[at] = low;
  }

  tag(number: number, kind: number): void {
    this.varint(number * 8 + kind);
  }

  integerField(number: number, value: number | bigint): void {
    this.varint(value);
    this.tag(number, wire.varint);
  }

  doubleField(number: number, value: number): void {
    this.#reserve(8);
    this.#at -= 8;
    this.#bytes.writeDoubleLE(value, this.#at);
    this.tag(number, wire.fixed64);
  }

  /** Closes the bytes written since `before` as the block of that field. */
  block(number: number, before: number): void {
    this.varint(this.written - before);
    this.tag(number, wire.block);
  }

  /** UTF-8. */
  textField(number: number, text: string): void {
    if (!this.#short(text)) this.#long(text);
    this.tag(number, wire.block);
  }

  /** Writes a short text of ASCII and its length; false, and nothing written, where it is another. */
  #short(text: string): boolean {
    const { length } = text;
    if (length > shortText) return false;
    this.#reserve(length + 1);
    const [bytes, at] = [this.#bytes, this.#at - length];
    for (let i = 0; i < length; i++) {
      const code = text.charCodeAt(i);
      if (code >= 0x80) return false;
      bytes[at + i] = code;
    }
    bytes[at - 1] = length;
    this.#at = at - 1;
    return true;
  }

  #long(text: string): void {
    const size = Buffer.byteLength(text);
    this.#reserve(size);
    this.#at -= size;
    this.#bytes.write(text, this.#at, size, "utf8");
    this.varint(size);
  }
}
