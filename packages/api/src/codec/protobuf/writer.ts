/** How the value after a tag is laid out. */
export const wire = { varint: 0, fixed64: 1, block: 2, startGroup: 3, endGroup: 4, fixed32: 5 } as const;

/**
 * Writes from the end to the start: when the tag of a message is due, its length is known, and nothing is written
 * twice. Callers therefore write the last field first, and a value before its tag.
 */
export class BackwardWriter {
  #bytes = Buffer.allocUnsafe(2048);
  /** Index of the first byte written. */
  #at = 2048;

  /** How many bytes are written; remember it before a message, for `block`. */
  get written(): number {
    return this.#bytes.length - this.#at;
  }

  /** A copy of what is written. */
  finish(): Uint8Array {
    return Uint8Array.prototype.slice.call(this.#bytes, this.#at);
  }

  /** Moves the start to make room for that many bytes, and returns it. May change `#bytes`: call it first. */
  #room(size: number): number {
    if (size > this.#at) {
      const { written } = this;
      const larger = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, written + size));
      this.#bytes.copy(larger, larger.length - written, this.#at);
      this.#bytes = larger;
      this.#at = larger.length - written;
    }
    this.#at -= size;
    return this.#at;
  }

  raw(bytes: Uint8Array): void {
    const { length } = bytes;
    const at = this.#room(length);
    if (length > 16) this.#bytes.set(bytes, at);
    else for (let i = 0; i < length; i++) this.#bytes[at + i] = bytes[i]!;
  }

  /** The 64 bits of a whole number; negative ones in two's complement. */
  varint(value: number | bigint): void {
    if (typeof value === "number" && value >= 0 && value < 0x80) {
      const at = this.#room(1);
      this.#bytes[at] = value;
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
    let at = this.#room(size);
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

  double(value: number): void {
    const at = this.#room(8);
    this.#bytes.writeDoubleLE(value, at);
  }

  /** UTF-8, without length. */
  text(text: string): void {
    const { length } = text;
    if (length <= 64) {
      const at = this.#room(length);
      let i = 0;
      for (; i < length; i++) {
        const code = text.charCodeAt(i);
        if (code >= 0x80) break;
        this.#bytes[at + i] = code;
      }
      if (i === length) return;
      this.#at += length;
    }
    const size = Buffer.byteLength(text);
    const at = this.#room(size);
    this.#bytes.write(text, at, size, "utf8");
  }

  /** Closes what was written since `before` as the block of that field. */
  block(number: number, before: number): void {
    this.varint(this.written - before);
    this.tag(number, wire.block);
  }

  textField(number: number, text: string): void {
    const before = this.written;
    this.text(text);
    this.block(number, before);
  }
}
