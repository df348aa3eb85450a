import { TooManyValuesError } from "../../json/value-count.ts";
import { DecodeError } from "../decode-error.ts";
import { Provenance } from "../provenance.ts";
import { sharedText } from "./shared-text.ts";
import { wire } from "./writer.ts";

/** Tags of an entry of a map: its own, and those of key and value. */
const tagsOfEntry = 3;

/** Minimum length in bytes of a message that is read in pieces. */
export const largeMessage = 32 * 1024;
/** How many tags are read before it is asked again whether a pause is due. */
const tagsBetween = 1024;

/** Thrown where a pause is due: the rest is read by calling again from the beginning, in the next piece. */
export const unfinished = Symbol("the rest comes in the next piece");

/** Work that may be interrupted. */
export interface Pieces {
  /** Reports whether a pause is due. */
  readonly isDue: () => boolean;
  /** Values that are not complete, as far as they are read, by the index at which each begins. */
  readonly begun: Map<number, unknown>;
}

/** Maximum depth of messages in messages: real objects stay below 40, except for schemas of schemas. */
const maxDepth = 400;

/** Reads protobuf from untrusted bytes. Throws DecodeError, which names the byte. */
export class Reader {
  readonly bytes: Buffer;
  /** Receives the details that the objects do not show. */
  readonly provenance: Provenance;
  /** Index of the next byte. */
  at = 0;
  /** How many messages are open. */
  depth: number;
  /** Maximum number of fields, keys and elements. */
  maxValues = Number.POSITIVE_INFINITY;
  /** Undefined where all is read at once. */
  pieces: Pieces | undefined;
  #tags = 0;
  #tagsAtPause = 0;
  /** The two halves of the last varint. */
  #low = 0;
  #high = 0;

  /** `depth`: how many messages are open around these bytes. */
  constructor(bytes: Uint8Array, provenance = new Provenance(), depth = 0) {
    this.provenance = provenance;
    this.depth = depth;
    this.bytes = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  fail(why: string, at = this.at): never {
    throw new DecodeError(`proto: ${why} (byte ${at})`);
  }

  /** Opens a message; `name` is its type. */
  enter(name: string): void {
    if (++this.depth > maxDepth) this.fail(`${name}: more than ${maxDepth} messages within each other`);
  }

  leave(): void {
    this.depth--;
  }

  /** Begins the next piece at an index. */
  resumeAt(index: number): void {
    this.at = index;
    this.depth = 0;
    this.#tagsAtPause = this.#tags + tagsBetween;
  }

  /** Throws `unfinished` if a pause is due. */
  pauseIfDue(): void {
    if (this.#tags < this.#tagsAtPause) return;
    this.#tagsAtPause = this.#tags + tagsBetween;
    if (this.pieces?.isDue() === true) throw unfinished;
  }

  /** Reads 64 bits into the two halves. */
  #varint(end: number): void {
    let low = 0;
    let middle = 0;
    let high = 0;
    for (let i = 0; i < 10; i++) {
      if (this.at >= end) this.fail("unexpected EOF in a number");
      const byte = this.bytes[this.at++]!;
      const bits = byte & 0x7f;
      if (i < 4) low |= bits << (7 * i);
      else if (i < 8) middle |= bits << (7 * (i - 4));
      else high |= bits << (7 * (i - 8));
      if (byte < 0x80) {
        this.#low = (low | (middle << 28)) >>> 0;
        this.#high = ((middle >>> 4) | (high << 24)) >>> 0;
        return;
      }
    }
    this.fail("integer overflow: a number of more than 10 bytes");
  }

  int32(end: number): number {
    this.#varint(end);
    return this.#low | 0;
  }

  /** A bigint where a number would lose digits. */
  int64(end: number): number | bigint {
    this.#varint(end);
    const high = this.#high | 0;
    const number = high * 2 ** 32 + this.#low;
    return Number.isSafeInteger(number) ? number : (BigInt(high) << 32n) | BigInt(this.#low);
  }

  bool(end: number): boolean {
    this.#varint(end);
    return (this.#low | this.#high) !== 0;
  }

  double(end: number): number {
    const at = this.at;
    this.#skipBytes(8, end);
    return this.bytes.readDoubleLE(at);
  }

  /** Number and kind of the next field, as number * 8 + kind. */
  tag(end: number): number {
    const start = this.at;
    if (++this.#tags > this.maxValues * tagsOfEntry) throw new TooManyValuesError(this.maxValues);
    this.#varint(end);
    const number = this.#low >>> 3;
    if (this.#high !== 0 || number === 0 || number > 0x1fffffff) this.fail(`illegal tag ${number}`, start);
    return this.#low;
  }

  /** Reads a length, and gives the end of the block that begins here. */
  block(end: number): number {
    const start = this.at;
    this.#varint(end);
    if (this.#high >= 2 ** 31) this.fail("negative length", start);
    const length = this.#high * 2 ** 32 + this.#low;
    if (length > end - this.at) {
      this.fail(`unexpected EOF: ${length} bytes are announced, ${end - this.at} are left`, start);
    }
    return this.at + length;
  }

  #skipBytes(count: number, end: number): void {
    if (count > end - this.at) this.fail("unexpected EOF");
    this.at += count;
  }

  /** Skips the value of an unknown field; groups with their content. */
  skip(tag: number, end: number): void {
    let groups = 0;
    let next = tag;
    for (;;) {
      switch (next & 7) {
        case wire.varint:
          this.#varint(end);
          break;
        case wire.fixed64:
          this.#skipBytes(8, end);
          break;
        case wire.block:
          this.at = this.block(end);
          break;
        case wire.startGroup:
          groups++;
          break;
        case wire.endGroup:
          if (groups === 0) this.fail("the end of a group that has not begun");
          groups--;
          break;
        case wire.fixed32:
          this.#skipBytes(4, end);
          break;
        default:
          this.fail(`illegal wire type ${next & 7}`);
      }
      if (groups === 0) return;
      next = this.tag(end);
    }
  }

  /** The text up to `end`. Invalid UTF-8 becomes U+FFFD, as when Go writes it to JSON. */
  text(end: number): string {
    const start = this.at;
    this.at = end;
    return sharedText(this.bytes, start, end) ?? this.bytes.toString("utf8", start, end);
  }

  base64(end: number): string {
    const start = this.at;
    this.at = end;
    return this.bytes.toString("base64", start, end);
  }
}
